// The page of a seat at a live table: what the server tells is drawn, what is clicked is sent.

let game = null; // a document, as far as this seat has seen it
let table = null; // how things stand, as the server has told last
const state = { turn: 0, eyes: null, selected: null, everyMove: false };
const analysed = false;
let typed = ""; // keys of a move that is not whole yet
let advised = null; // the turn that advice was brought for
let thinkingSince = 0;
let searched = 0; // rollouts of the search for advice

const atNow = () => state.turn === lastTurn();
const now = () => game.turns[lastTurn()];
const over = () => table !== null && (table.ended !== null || table.stopped);

// ------------------------------------------------------------------------------------ the server

let socket = null;
let tries = 0;

function connect() {
  const address = new URL("live", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  socket = new WebSocket(address);
  socket.onopen = () => { tries = 0; say(""); };
  socket.onmessage = (event) => hear(JSON.parse(event.data));
  socket.onclose = (event) => {
    if (event.code === 1008) return say(event.reason || "This seat is not to be had any more.");
    if (tries >= 8) return say("The server does not answer. Reload the page to try again.");
    say("The connection is lost; trying again.");
    setTimeout(connect, Math.min(500 * 2 ** tries++, 10000));
  };
}

function send(kind, more) {
  if (socket.readyState !== WebSocket.OPEN) return say("There is no connection to the server.");
  socket.send(JSON.stringify({ kind, turn: lastTurn(), ...more }));
}

function hear(message) {
  const following = game === null || atNow();
  if (message.kind === "game") {
    game = message.game;
    state.eyes = game.seat;
    advised = null;
    introduce();
  } else if (message.kind === "turns") {
    game.turns.length = message.from;
    game.turns.push(...message.turns);
    game.cards = message.cards;
  } else if (message.kind === "state") {
    table = message;
    if (table.thinking) thinkingSince = performance.now() - 1000 * table.thinking.seconds;
    if (!table.advising) searched = 0;
  } else if (message.kind === "advice") {
    const turn = game.turns[message.turn];
    if (!turn) return;
    turn.search = message.search;
    turn.beliefs[game.seat] = message.belief;
    advised = message.turn;
  } else if (message.kind === "advice_progress") {
    searched = message.rollouts;
    return drawThinking();
  } else if (message.kind === "refused") {
    return say(message.why);
  }
  if (message.kind === "game" || message.kind === "turns") {
    listed = "";
    if (following || message.kind === "game") state.turn = lastTurn();
    state.turn = Math.min(state.turn, lastTurn());
    say("");
    return; // how things stand follows at once, and all is drawn
  }
  draw();
}

// ---------------------------------------------------------------------------------------- moves

// An action's number by what it does.
const numberOf = (wanted) => game.actions.findIndex((action) =>
  Object.keys(action).every((name) => action[name] === wanted[name]));

// Why an action is not allowed now; null where it is.
function whyNot(action) {
  if (table.broken) return table.broken;
  if (over()) return "the game is over";
  if (table.moves === null) return `it is the turn of P${now().mover}`;
  return table.moves[action];
}

function act(action) {
  const why = whyNot(action);
  if (why !== null) return say(`Not allowed now: ${why}.`);
  say("");
  send("move", { action });
}

function say(words, plain) {
  at("why").textContent = words;
  at("why").classList.toggle("plain", Boolean(plain));
}

function moveKey(action, words, spoken, more) {
  const why = whyNot(action);
  return html("button", {
    type: "button", class: (more.class || "") + (why === null ? "" : " off"), title: why === null ? spoken : `${spoken}: ${why}`,
    "aria-disabled": String(why !== null), "aria-label": why === null ? spoken : `${spoken}, not allowed: ${why}`,
    "data-key": `action ${action}`, onclick: () => act(action), ...more.on,
  }, words);
}

// What stands under a hand: to play and discard under one's own cards, hints under another's.
function below(seat) {
  if (!atNow() || over()) return null;
  const { colors, ranks, players } = game.config;
  if (seat === game.seat) {
    return html("div", { class: `below slots of-${game.config.hand_size}` }, now().hands[seat].map((_, slot) =>
      html("div", { class: "own" },
        moveKey(numberOf({ type: "play", slot }), "Play", `Play slot ${slot}`, {}),
        moveKey(numberOf({ type: "discard", slot }), "Discard", `Discard slot ${slot}`, {}))));
  }
  const target = (seat - game.seat + players) % players;
  const hint = (wanted, words, name) => {
    const touched = now().hands[seat].filter((order) => {
      const card = game.cards[order];
      return wanted.type === "reveal_color" ? colorOf(game, card) === wanted.color : rankOf(game, card) === wanted.rank;
    });
    const show = (on) => () => {
      for (const order of touched) {
        const slot = document.querySelector(`.slot[data-order="${order}"]`);
        if (slot) slot.classList.toggle("would", on);
      }
    };
    return moveKey(numberOf(wanted), words, `Hint ${name} to P${seat}`, {
      class: "tell",
      on: { onmouseenter: show(true), onmouseleave: show(false), onfocus: show(true), onblur: show(false) },
    });
  };
  return html("div", { class: "tells", role: "group", "aria-label": `Hints to P${seat}` },
    html("div", {}, COLORS.slice(0, colors).map((color, index) =>
      hint({ type: "reveal_color", target, color: index }, [suitIcon(index), color.letter], color.name))),
    html("div", {}, [...Array(ranks).keys()].map((rank) =>
      hint({ type: "reveal_rank", target, rank }, String(rank + 1), String(rank + 1)))));
}

// ------------------------------------------------------------------------------------ the drawing

// The first turn after this seat's last move.
function sinceOwn() {
  for (let turn = lastTurn() - 1; turn >= 0; turn--) if (game.turns[turn].mover === game.seat) return turn;
  return 0;
}

// What hints since then told of the cards that are still held.
function freshMarks() {
  const marks = new Map();
  for (let turn = sinceOwn(); turn < lastTurn(); turn++) {
    if (game.turns[turn].mover === game.seat) continue;
    for (const [order, words] of marksOf(game, game.turns[turn])) {
      if (holderOf(now(), order) >= 0) marks.set(order, words);
    }
  }
  return marks;
}

function draw() {
  const focused = document.activeElement && document.activeElement.dataset.key;
  at("table").replaceChildren(...drawTable(game, state.turn, {
    eyes: game.seat, selected: state.selected, marks: atNow() ? freshMarks() : null, below,
    onCard: (seat, order) => {
      state.selected = state.selected === order ? null : order;
      draw();
      const turn = game.turns[state.turn];
      const slot = turn.hands[seat].indexOf(order);
      say(state.selected === null ? "" : `P${seat}, slot ${slot}: ${hintWords(game, turn.hints[seat][slot])}.`, true);
    },
  }));
  for (const slot of at("table").querySelectorAll(".slot")) slot.dataset.key = `card ${slot.dataset.order}`;
  drawTurn();
  drawDecision();
  drawMoves(over() ? "end" : "now");
  showCurrentMove();
  if (focused) {
    const again = document.querySelector(`[data-key="${focused}"]`);
    if (again) again.focus({ preventScroll: true });
  }
}

function drawTurn() {
  const turn = now();
  const yours = table.moves !== null;
  const most = game.config.colors * game.config.ranks;
  at("number").textContent = atNow() ? (over() ? "The end" : `Turn ${lastTurn() + 1}`) : `You look back at turn ${state.turn + 1}`;
  let words;
  if (table.ended) words = `${table.ended.lost ? "The last life is lost" : "The game is over"}: ${table.ended.score} of ${most}`;
  else if (table.stopped) words = `The game was ended here, with ${turn.points} of ${most} on the table`;
  else if (table.broken) words = table.broken;
  else if (yours) words = "Your turn";
  else words = `P${turn.mover} ${table.thinking ? "thinks" : "moves"}`;
  if (at("whose").textContent !== words) at("whose").textContent = words;
  document.title = `${words} \u00b7 Hanabi`;
  drawThinking();
  const lines = [];
  for (let index = sinceOwn(); index < lastTurn(); index++) {
    lines.push(html("li", {}, `P${game.turns[index].mover} ${inWords(index, game.turns[index].move.action, true)}`));
  }
  at("since").replaceChildren(...(atNow() ? lines : []));
  at("acts").replaceChildren(...(over() ? afterwards() : buttons(yours)));
}

function buttons(yours) {
  const key = (name, words, title, off, onclick, className) => html("button", {
    type: "button", class: "wide" + (className ? " " + className : "") + (off ? " off" : ""), title: off || title,
    "aria-disabled": String(Boolean(off)), "data-key": name, onclick: () => (off ? say(`${off}.`) : onclick()),
  }, words);
  if (!atNow()) return [key("now", "Back to the game", "End", "", () => go(lastTurn()), "main")];
  const wait = yours ? "" : "Advice is for your own turn";
  return [
    table.advising
      ? key("advice", "Stop the search", "End the search for advice", "", () => send("hush"))
      : key("advice", "Advice", `What would ${table.advice} play, and why? (a)`, wait, askAdvice),
    key("back", "Take back", "Take back your last move, and all that followed (u)",
      table.can_take_back ? "" : "There is nothing to take back", () => send("take_back")),
    key("end", "End the game", "Open all hands here", "", () => at("sure").showModal()),
  ];
}

function askAdvice() {
  if (table.moves === null) return say("Advice is for your own turn.");
  if (table.advising) return;
  send("advise");
}

// When the game is over: look at it, keep it, have it analysed, deal anew.
function afterwards() {
  const link = (address, words, more) => html("a", { class: "wide", href: address, ...more }, words);
  const apart = { target: "_blank", rel: "noopener" };
  let analysis;
  if (table.analysed) analysis = link("analysis", "See the analysis", { ...apart, "data-key": "analysis" });
  else if (table.analysing) analysis = html("span", { class: "quiet" }, `Analysed: ${table.analysing.turns} of ${table.analysing.of} moves`);
  else analysis = html("button", { type: "button", class: "wide", "data-key": "analyse", onclick: () => send("analyse") }, "Analyse");
  return [
    link("open", "Open hands", { ...apart, "data-key": "open" }),
    analysis,
    link("game.jsonl", "Save", { download: "", "data-key": "save" }),
    html("button", { type: "button", class: "wide main", "data-key": "again", onclick: () => send("again") }, "Deal anew"),
  ];
}

// Who thinks for how long; of advice how far its search is.
function drawThinking() {
  const lines = [];
  const bar = (share) => svg("svg", { "aria-hidden": "true" },
    svg("rect", { width: "100%", height: "100%", rx: 3, class: "track" }),
    svg("rect", { width: `${100 * Math.min(share, 1)}%`, height: "100%", rx: 3, class: "done" }));
  if (table.readying) lines.push("Getting ready: what is used for the first time is compiled, up to half a minute.");
  if (table.thinking) {
    const { seat, search, usual } = table.thinking;
    const seconds = (performance.now() - thinkingSince) / 1000;
    const mostly = usual ? `, mostly ${usual.toFixed(1)} s` : "";
    if (search || seconds > 0.3) lines.push(`P${seat} thinks${search ? ` (${search})` : ""}: ${seconds.toFixed(1)} s${mostly}`);
    if (usual) lines.push(bar(seconds / usual));
  }
  if (table.advising) {
    const budget = Number((/([\d,]+) rollout/.exec(table.advice) || ["", "0"])[1].replaceAll(",", ""));
    lines.push(`Advice is being searched: ${searched.toLocaleString("en")} rollouts of at most ${budget.toLocaleString("en")}`);
    if (budget) lines.push(bar(searched / budget));
  }
  for (const person of table.people) {
    if (!person.here) lines.push(html("span", { class: "away" }, `P${person.seat} is not here.`));
  }
  at("thinking").hidden = lines.length === 0;
  at("thinking").replaceChildren(...lines.map((line) => (typeof line === "string" ? html("span", {}, line) : line)));
}

function drawDecision() {
  const turn = game.turns[state.turn];
  at("decision").hidden = !turn.search;
  if (!turn.search) return;
  const { action, blueprint_action: base } = turn.search;
  const agree = action === base;
  at("decision").replaceChildren(
    html("h2", {}, state.turn === advised && atNow() ? "Advice" : `Advice at turn ${state.turn + 1}`),
    html("p", { class: "said" }, `P${turn.mover} ${inWords(state.turn, action, false)}`),
    ...drawSearch(turn, turn.search),
    html("p", { class: "facts" }, (agree ? "" : "It leaves the blueprint where that is clearly worth more. ") +
      "Under your cards stands what they probably are, as far as the others play what they are taken for."));
}

// ---------------------------------------------------------------------------------- looking back

function go(turn) {
  const next = Math.min(Math.max(turn, 0), lastTurn());
  if (next !== state.turn) state.selected = null;
  state.turn = next;
  listed = "";
  draw();
}

// ------------------------------------------------------------------------------------------ keys

const KEYS = {
  ArrowLeft: () => go(state.turn - 1), ArrowRight: () => go(state.turn + 1),
  Home: () => go(0), End: () => go(lastTurn()),
  a: askAdvice, u: () => (table.can_take_back ? send("take_back") : say("There is nothing to take back.")),
  t: toggleTheme, "?": () => at("guide").showModal(),
};

// The move that typed keys mean, as in the terminal: p2, d0, hr, h3, with more players h2r.
function typedMove() {
  const { players, hand_size, colors, ranks } = game.config;
  const slot = /^([pd])(\d)$/.exec(typed);
  if (slot && Number(slot[2]) < hand_size) {
    return numberOf({ type: slot[1] === "p" ? "play" : "discard", slot: Number(slot[2]) });
  }
  const hint = players > 2 ? /^h(\d)([a-z1-5])$/.exec(typed) : /^h()([a-z1-5])$/.exec(typed);
  if (!hint) return -1;
  const seat = players > 2 ? Number(hint[1]) : 1 - game.seat;
  const target = (seat - game.seat + players) % players;
  const color = COLORS.slice(0, colors).findIndex((one) => one.letter.toLowerCase() === hint[2]);
  if (color >= 0) return numberOf({ type: "reveal_color", target, color });
  const rank = Number(hint[2]) - 1;
  return rank >= 0 && rank < ranks ? numberOf({ type: "reveal_rank", target, rank }) : -1;
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || game === null || table === null) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    typed = "";
    say("");
    return;
  }
  if (typed || /^[pdh]$/.test(event.key)) {
    if (event.key.length !== 1 || event.key === " ") return;
    typed += event.key.toLowerCase();
    const action = typedMove();
    const whole = action >= 0 || typed.length > (typed[0] === "h" && game.config.players > 2 ? 2 : 1);
    if (action >= 0) act(action);
    else if (whole) say(`${typed} is not a move; ? lists the keys.`);
    else say(`${typed} \u2026`, true);
    if (whole) typed = "";
  } else if (Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
  else return;
  event.preventDefault();
}

// ----------------------------------------------------------------------------------- the beginning

function introduce() {
  game.players[game.seat] = "you";
  const name = (seat) => game.players[seat];
  at("title").textContent = `You are P${game.seat}`;
  at("subtitle").textContent = game.players.map((_, seat) => `P${seat} ${name(seat)}`).join(" \u00b7 ");
  at("moves").className = "of-" + game.config.players;
  at("heads").replaceChildren(html("span"), ...game.players.map((_, seat) => html("span", { title: name(seat) }, `P${seat}`)));
  const hint = game.config.players > 2 ? "h2r, h23" : "hr, h3";
  at("keys").replaceChildren(...[
    ["p0, d0", "play, discard the card in slot 0, the oldest"], [hint, game.config.players > 2 ? "hint red, hint 3 to P2" : "hint red, hint 3"],
    ["a", "advice: what a search would play, and why"], ["u", "take back your last move, and all that followed"],
    ["\u2190 \u2192", "look back, one move at a time"], ["Home, End", "the first turn, now"], ["t", "light or dark"], ["Esc", "forget the keys typed"],
  ].flatMap(([key, words]) => [html("dt", {}, key), html("dd", {}, words)]));
  at("reading").replaceChildren(...[
    "Slots count from 0, the oldest card first. Under a card stand the colours and ranks that hints leave possible, what was told outright in reverse.",
    "Marked cards are those that hints have told of since your last move. What is greyed out is not allowed now: point at it, or press it, to see why.",
    "Each colour has a shape and a letter. Discarded ranks stand under their firework, the last copy of one in bold red.",
    "When nobody looks at the table the others stop to think. Whoever opens this address plays at this seat.",
  ].map((words) => html("p", {}, words)));
}

at("theme").onclick = toggleTheme;
at("help").onclick = () => at("guide").showModal();
at("sure").addEventListener("close", () => { if (at("sure").returnValue === "yes") send("stop"); });
window.addEventListener("keydown", onKey);
setInterval(() => { if (table !== null && table.thinking) drawThinking(); }, 100);
connect();
