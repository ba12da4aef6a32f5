// Moves in words, what each was worth, the list of them. A page has `game`, a document, `state`
// (turn, eyes, everyMove), `analysed`, `go`, which shows a turn, and `drawDecision`.

const PLAYED = "\u25b8"; // before the played move, where it need not be the search's
const FEW = 7; // moves of a decision that are shown at first

const two = (value) => (value === null ? "" : value.toFixed(2));
const signed = (value) => (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(2);
const targetOf = (mover, action) => (mover + action.target) % game.config.players;
const holderOf = (turn, order) => turn.hands.findIndex((hand) => hand.includes(order));
const lastTurn = () => game.turns.length - 1;

// ------------------------------------------------------------------------------- moves in words

// What the eyes may know of a card that is played: later moves of one's own are not given away.
function cardIn(index, order) {
  const holder = game.turns[index].mover;
  return state.eyes === holder && index >= state.turn ? null : game.cards[order];
}

function inWords(index, number, played) {
  const turn = game.turns[index];
  const action = game.actions[number];
  if (action.type === "play" || action.type === "discard") {
    const order = turn.hands[turn.mover][action.slot];
    const identity = cardIn(index, order);
    const what = `${action.type}s slot ${action.slot}` + (identity === null ? "" : `: ${cardName(game, identity)}`);
    if (!played || action.type === "discard" || identity === null) return what;
    return what + (turn.move.scored ? ", which scores" : ", a misplay: a life is lost");
  }
  const target = targetOf(turn.mover, action);
  const value = action.type === "reveal_color" ? COLORS[action.color].name : String(action.rank + 1);
  if (!played) return `hints ${value} to P${target}`;
  const slots = turn.move.touched.map((order) => turn.hands[target].indexOf(order));
  return `hints ${value} to P${target}: slot${slots.length > 1 ? "s" : ""} ${slots.join(", ")}`;
}

// Short names of a move, for charts and for the list.
function inChart(index, number) {
  const turn = game.turns[index];
  const action = game.actions[number];
  if (action.type === "play" || action.type === "discard") {
    const identity = cardIn(index, turn.hands[turn.mover][action.slot]);
    return `${action.type} ${action.slot}` + (identity === null ? "" : ` (${cardName(game, identity)})`);
  }
  const value = action.type === "reveal_color" ? COLORS[action.color].name : String(action.rank + 1);
  return game.config.players === 2 ? `hint ${value}` : `${value} \u2192 P${targetOf(turn.mover, action)}`;
}

function inList(index, number) {
  const turn = game.turns[index];
  const action = game.actions[number];
  const narrow = game.config.players > 3;
  if (action.type === "play" || action.type === "discard") {
    const identity = cardIn(index, turn.hands[turn.mover][action.slot]);
    const verb = action.type === "discard" ? (narrow ? "\u2193" : "drop ") : identity === null && !narrow ? "play " : "";
    return verb + (identity === null ? (narrow ? `?${action.slot}` : `slot ${action.slot}`) : cardName(game, identity));
  }
  const color = action.type === "reveal_color" ? COLORS[action.color] : null;
  const value = color ? (narrow ? color.letter : color.name) : String(action.rank + 1);
  const target = targetOf(turn.mover, action);
  return game.config.players === 2 ? `hint ${value}` : `${value}${narrow ? "\u2192" : " \u2192 P"}${target}`;
}

const searchSeen = (turn) => (state.eyes === null || state.eyes === turn.mover ? turn.search : null);
const isChange = (turn) => turn.search !== null &&
  (turn.search.mistake ?? turn.search.action !== turn.search.blueprint_action);

// ---------------------------------------------------------------------------------- what moves are worth

const SIGN = {
  search: () => svg("svg", { viewBox: "0 0 12 12", class: "mark", role: "img", "aria-label": "the search's move" },
    svg("path", { d: SHAPES[1], class: "sign-search" })),
  blueprint: () => svg("svg", { viewBox: "0 0 12 12", class: "mark", role: "img", "aria-label": "the blueprint's move" },
    svg("path", { d: "M6 1.6 10.4 6 6 10.4 1.6 6Z", class: "sign-blueprint" })),
  both: () => svg("svg", { viewBox: "0 0 12 12", class: "mark", role: "img", "aria-label": "the move of search and blueprint" },
    svg("path", { d: "M6 .8 11.2 6 6 11.2.8 6Z", class: "sign-search" })),
};
const REASONS = {
  improved: "the search's move is better",
  tree_choice: "the tree's choice",
  blueprint_best: "nothing is better than the blueprint's move",
  below_threshold: "another move looks better, but by too little",
  single_move: "the only legal move",
  budget_too_small: "too few rollouts to compare moves",
  belief_too_small: "too few worlds to search in",
  search_not_allowed: "no search was allowed here",
};

function drawSearch(turn, search) {
  const facts = [];
  const agrees = search.action === search.blueprint_action;
  const played = analysed ? turn.move.action : null;
  if (analysed && played === search.action) facts.push("No other move was worth more. ");
  else if (analysed) {
    facts.push(search.mistake ? "A mistake: it gave away " : "It gave away ",
      html("span", { class: "gain" }, `${two(search.lost)} \u00b1 ${two(search.lost_stderr)}`), " points. ");
  }
  if (agrees && analysed) facts.push("The blueprint makes the best move.");
  else if (agrees) facts.push("The blueprint plays the same" + (search.reason ? `: ${REASONS[search.reason] || search.reason}.` : "."));
  else {
    facts.push(`The blueprint ${inWords(state.turn, search.blueprint_action, false)}. `);
    if (search.gain !== null && !analysed) {
      facts.push("Gain ", html("span", { class: "gain" }, signed(search.gain) +
        (search.gain_stderr === null ? "" : ` \u00b1 ${two(search.gain_stderr)}`)), ".");
    }
  }
  const total = search.moves.reduce((sum, move) => sum + move.count, 0);
  const tree = search.depth !== null;
  const cost = `${total.toLocaleString("en")} ${tree ? "iterations" : "rollouts"}` +
    (search.belief_size ? ` over ${search.belief_size.toLocaleString("en")} hands` : "") +
    (tree ? `, a tree of depth ${search.depth}` : "");
  const order = [...search.moves].sort((a, b) => (b.mean ?? -Infinity) - (a.mean ?? -Infinity));
  let shown = order;
  if (!state.everyMove && order.length > FEW + 1) {
    const kept = (move) => [search.action, search.blueprint_action, played].includes(move.action);
    shown = order.filter((move, index) => index < FEW || kept(move));
  }
  const hidden = order.length - shown.length;
  return [
    html("p", { class: "facts" }, facts),
    drawValues(shown, search, played),
    html("div", { class: "signs" },
      html("span", {}, SIGN.search(), analysed ? "best" : "search"),
      html("span", {}, SIGN.blueprint(), "blueprint"),
      agrees && html("span", {}, SIGN.both(), "both"),
      analysed && html("span", {}, `${PLAYED} played`),
      (hidden > 0 || (state.everyMove && order.length > FEW + 1)) && html("button", {
        type: "button", class: "more", onclick: () => { state.everyMove = !state.everyMove; drawDecision(); },
      }, hidden > 0 ? `All ${order.length} moves` : "Fewer moves")),
    html("p", { class: "facts" }, cost + (search.note ? `; ${search.note}` : "") + "."),
  ];
}

// Each move's expected final score as a point with its error, on one scale.
function drawValues(moves, search, played) {
  const valued = moves.filter((move) => move.mean !== null);
  const best = Math.max(...valued.map((move) => move.mean));
  let low = Math.min(...valued.map((move) => move.mean - (move.stderr || 0)));
  let high = Math.max(...valued.map((move) => move.mean + (move.stderr || 0)));
  low = Math.max(low, best - 6);
  const room = Math.max(high - low, 0.2) * 0.06;
  low -= room;
  high += room;
  const place = (value) => 100 * Math.min(Math.max((value - low) / (high - low), 0), 1);
  const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5].find((size) => (high - low) / size <= 4) || 10;
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
  const lines = () => ticks.map((tick) =>
    svg("line", { x1: place(tick) + "%", x2: place(tick) + "%", y1: -3, y2: 21, class: "grid" }));
  const rows = moves.map((move) => {
    const chosen = move.action === search.action;
    const blueprint = move.action === search.blueprint_action;
    const error = move.stderr || 0;
    const off = move.mean !== null && move.mean < low;
    const fate = move.mean === null ? "not tried" : move.dropped ? `dropped after ${move.count.toLocaleString("en")} rollouts` : "";
    return html("div", {
      class: ["value", chosen ? "chosen" : "", move.dropped || move.mean === null ? "dropped" : ""].join(" "),
      role: "listitem",
      title: `${inWords(state.turn, move.action, false)}: ${move.count.toLocaleString("en")} rollouts` + (move.dropped ? ", then dropped" : ""),
    },
      html("span", { class: "sign" }, chosen && blueprint ? SIGN.both() : chosen ? SIGN.search() : blueprint ? SIGN.blueprint() : ""),
      html("span", { class: "what" }, (move.action === played ? `${PLAYED} ` : "") + inChart(state.turn, move.action)),
      svg("svg", { "aria-hidden": "true" }, lines(),
        move.mean !== null && !off && svg("line", {
          x1: place(move.mean - error) + "%", x2: place(move.mean + error) + "%", y1: 9, y2: 9, class: "whisker",
        }),
        move.mean !== null && !off && svg("circle", { cx: place(move.mean) + "%", cy: 9, r: 4, class: "dot" }),
        off && svg("path", { d: "M8 4 1 9 8 14Z", class: "dot" })),
      html("span", { class: "worth" }, move.mean === null ? html("small", {}, "not tried")
        : [two(move.mean), move.stderr === null ? "" : html("small", {}, ` \u00b1 ${two(move.stderr)}`)],
        fate && html("span", { class: "unseen" }, fate)));
  });
  return html("div", { class: "values", role: "list", "aria-label": "Expected final score of every legal move" },
    rows,
    html("div", { class: "value axis", "aria-hidden": "true" }, html("span"), html("span", {}, "final score"),
      svg("svg", {}, ticks.map((tick) =>
        svg("text", { x: place(tick) + "%", y: 12 }, String(Math.round(100 * tick) / 100)))), html("span")));
}

// ------------------------------------------------------------------------------------- the list

let listed = ""; // what the list was drawn for

function drawMoves(last) {
  const wanted = state.eyes === null ? "all" : `${state.eyes} at ${state.turn}`;
  if (wanted === listed) return;
  listed = wanted;
  const players = game.config.players;
  const list = at("list");
  const rows = [];
  let cells = null;
  const flush = () => {
    if (!cells) return;
    while (cells.length <= players) cells.push(html("span"));
    rows.push(html("li", {}, cells));
  };
  const end = (index) => html("button", { type: "button", "data-turn": index, onclick: () => go(index) },
    html("span", { class: "what" }, last));
  game.turns.forEach((turn, index) => {
    if (turn.mover === null) return;
    if (cells === null || turn.mover === 0) {
      flush();
      cells = [html("span", { class: "number" }, String(index + 1))];
      for (let seat = 0; seat < turn.mover; seat++) cells.push(html("span"));
    }
    cells.push(turn.move === null ? end(index) : moveButton(turn, index));
  });
  flush();
  if (game.turns[lastTurn()].mover === null) {
    rows.push(html("li", {}, html("span", { class: "number" }), end(lastTurn())));
  }
  list.replaceChildren(...rows);
}

function moveButton(turn, index) {
  const action = game.actions[turn.move.action];
  const order = turn.move.card;
  const identity = order === null ? null : cardIn(index, order);
  const misplay = turn.move.scored === false && identity !== null;
  const icon = identity !== null ? colorOf(game, identity) : action.type === "reveal_color" ? action.color : null;
  return html("button", {
    type: "button", "data-turn": index, onclick: () => go(index),
    "aria-label": `Turn ${index + 1}: P${turn.mover} ${inWords(index, turn.move.action, true)}`,
  },
    icon !== null && suitIcon(icon, "mark-suit"),
    html("span", { class: "what" + (misplay ? " bad" : "") }, inList(index, turn.move.action) + (misplay ? " \u2717" : "")),
    searchSeen(turn) && isChange(turn) && SIGN.search());
}

function showCurrentMove() {
  const list = at("list");
  for (const button of list.querySelectorAll("button")) {
    const now = Number(button.dataset.turn) === state.turn;
    if (now) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    if (now) {
      const top = button.offsetTop;
      if (top < list.scrollTop + 30 || top > list.scrollTop + list.clientHeight - 60) list.scrollTop = top - list.clientHeight / 2;
    }
  }
}
