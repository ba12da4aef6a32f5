// The page of a game: steps, the decision at each turn, beliefs, the list of moves, the curve.

const game = JSON.parse(document.getElementById("document").textContent);
const END = game.turns.length - 1;
const state = { turn: 0, eyes: game.seat, selected: null, everyMove: false };
// A game may have been analysed after it was played: then the moves to look at are mistakes.
const analysed = game.turns.some((turn) => turn.search !== null && turn.search.mistake !== null);

// ---------------------------------------------------------------------------------- the decision

function drawDecision() {
  const turn = game.turns[state.turn];
  const children = [];
  if (turn.move === null) {
    const most = game.config.colors * game.config.ranks;
    const points = game.score === null ? turn.points : game.score;
    const end = !game.finished ? "The record stops here"
      : turn.lives === 0 ? "The last life is lost" : "The game is over";
    children.push(
      html("h2", {}, "The end"),
      html("p", { class: "said" }, `${end}: ${points} of ${most}`),
      html("p", { class: "facts" }, lostPoints()));
  } else {
    children.push(
      html("h2", {}, `Turn ${state.turn + 1}, P${turn.mover} to move`),
      html("p", { class: "said" }, `P${turn.mover} ${inWords(state.turn, turn.move.action, true)}`));
    const search = searchSeen(turn);
    if (search) children.push(...drawSearch(turn, search));
    else children.push(html("p", { class: "facts" }, turn.search
      ? "What the search found is not for these eyes."
      : "This move was not searched."));
  }
  at("decision").replaceChildren(...children);
}

function lostPoints() {
  const searched = game.turns.filter((turn) => searchSeen(turn));
  const last = game.turns[END];
  const most = game.config.colors * game.config.ranks;
  const parts = [];
  if (last.possible < most) parts.push(`Discards put ${most - last.possible} of ${most} points out of reach.`);
  if (analysed && searched.length) {
    const mistakes = searched.filter(isChange);
    const lost = mistakes.reduce((sum, turn) => sum + turn.search.lost, 0);
    parts.push(`${mistakes.length} of ${searched.length} moves were mistakes` +
      (mistakes.length ? `, which gave away ${two(lost)} points in all.` : "."));
  } else if (searched.length) {
    const changed = searched.filter(isChange);
    const gains = changed.map((turn) => turn.search.gain).filter((gain) => gain !== null);
    parts.push(`The search decided ${searched.length} moves and changed ${changed.length}` +
      (gains.length ? `, by its own estimates for ${signed(gains.reduce((a, b) => a + b, 0))} points in all.` : "."));
  }
  return parts.join(" ");
}

// ------------------------------------------------------------------------------------ the belief

function drawBelief() {
  const turn = game.turns[state.turn];
  const held = (order) => order !== null && holderOf(turn, order) >= 0;
  let order = held(state.selected) ? state.selected : null;
  if (order === null && turn.move && turn.move.card !== null) order = turn.move.card;
  if (order === null && turn.move) order = turn.move.touched[0];
  if (order === null || order === undefined) order = turn.hands.flat()[0];
  if (state.selected === null && state.eyes !== null && holderOf(turn, order) !== state.eyes) order = turn.hands[state.eyes][0];
  const seat = order === undefined ? -1 : holderOf(turn, order);
  const mind = seat >= 0 && (state.eyes === null || state.eyes === seat) ? turn.beliefs[seat] : null;
  if (seat < 0) return at("belief").replaceChildren(html("h2", {}, "Belief"), html("p", { class: "facts" }, "No card is left."));
  const slot = turn.hands[seat].indexOf(order);
  const head = html("div", { class: "belief-head" }, html("h2", {}, `P${seat}, slot ${slot}`),
    html("span", { class: "facts" }, hintWords(game, turn.hints[seat][slot])));
  if (!mind) {
    return at("belief").replaceChildren(head,
      html("p", { class: "facts" }, "Nobody else knows what this seat believes."));
  }
  const chances = mind.slots[slot];
  const truth = seenCard(game, state.eyes, seat, order);
  const { colors, ranks } = game.config;
  const hint = turn.hints[seat][slot];
  const matrix = html("div", { class: `matrix of-ranks-${ranks}`, role: "img", "aria-label": beliefWords(chances) },
    html("div", { class: "line" }, html("span"), [...Array(ranks).keys()].map((rank) =>
      html("span", { class: "top" }, String(rank + 1)))),
    COLORS.slice(0, colors).map((color, row) => html("div", { class: "line" },
      html("span", {}, suitIcon(row), " " + color.letter),
      [...Array(ranks).keys()].map((rank) => {
        const identity = row * ranks + rank;
        const chance = chances[identity];
        const hinted = hint[0] >> row & 1 && hint[1] >> rank & 1;
        return html("div", {
          class: "cell" + (chance > 0 ? "" : " never") + (identity === truth ? " true" : ""),
          title: `${color.name} ${rank + 1}: ${chance > 0 ? percent(chance) + " %" : hinted ? "0 %" : "ruled out by hints"}`,
        },
          chance > 0 && svg("svg", { "aria-hidden": "true" },
            svg("rect", { width: 100 * chance + "%", height: "100%", class: barClass(row) })),
          html("span", {}, chance > 0 ? percent(chance) : hinted ? "0" : "\u00b7"));
      }))));
  const wrong = truth !== null && chances[truth] === 0;
  at("belief").replaceChildren(head, matrix, html("p", { class: "facts" },
    basis(mind, seat) + (wrong ? ` It rules out the true card, ${cardName(game, truth)}.` : "")));
}

function basis(mind, seat) {
  if (game.belief.kind === "model") return modelBasis(seat);
  const how = mind.exact ? "" : " A sample of the hands stands for all.";
  if (mind.recovered) return "Its partners left their policy: the belief fell back to hints and copies." + how;
  if (game.belief.kind === "hints") return "Percent, by hints and copies." + how;
  const silent = game.searched.map((searches, p) => [searches, p]).filter(([searches, p]) => searches && p !== seat);
  const others = game.policies.filter((_, p) => p !== seat && !game.searched[p]);
  if (!others.length) return "Percent, by hints and copies: moves of a search prove nothing." + how;
  return `Percent, ${mind.exact ? "exact, " : ""}given that the others play ${[...new Set(others)].join(", ")}` +
    (silent.length ? `; moves of P${silent.map(([, p]) => p).join(", P")} prove nothing, they were searched.` : ".") + how;
}

function modelBasis(seat) {
  const { policy, samples } = game.belief;
  const whose = policy ? ` from games of ${policy}` : "";
  const others = (game.policies || game.players)
    .map((name, p) => [name || (game.searched[p] ? "a search" : policy), p])
    .filter(([name, p]) => policy && p !== seat && name !== policy)
    .map(([name, p]) => `P${p} plays ${name}`);
  return `Percent, ${modelName(game)}${whose}, the mean over ${samples.toLocaleString("en")} sampled ${samples === 1 ? "hand" : "hands"}.` +
    (others.length ? ` It does not know the others: ${others.join(", ")}.` : "");
}

function beliefWords(chances) {
  const likely = chances.map((chance, identity) => [chance, identity]).filter(([chance]) => chance > 0)
    .sort((a, b) => b[0] - a[0]).slice(0, 5);
  return "Belief: " + likely.map(([chance, identity]) => `${cardName(game, identity)} ${percent(chance)} %`).join(", ");
}

// ------------------------------------------------------------------------------------- the moves

// Where the table is scrolled by itself, the hand that moves is in sight.
function showMover() {
  const table = at("table");
  const hand = table.querySelector(".hand.moves");
  if (!hand || table.scrollHeight <= table.clientHeight) return;
  const inner = hand.getBoundingClientRect();
  const outer = table.getBoundingClientRect();
  if (inner.bottom > outer.bottom) table.scrollTop += inner.bottom - outer.bottom + 8;
  else if (inner.top < outer.top) table.scrollTop = 0;
}

// ------------------------------------------------------------------------------------- the curve

const EDGE = 8; // half of the slider's thumb, so that curve and slider agree

function drawCurve() {
  const picture = at("curve");
  const width = picture.clientWidth || 600;
  const height = picture.clientHeight || 120;
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const x = (index) => EDGE + (width - 2 * EDGE) * (END ? index / END : 0);
  const steps = (value) => game.turns.map((turn, index) =>
    (index ? `H${x(index)}V` : `M${x(0)} `) + y(value(turn))).join("");
  const values = [];
  game.turns.forEach((turn, index) => {
    const search = searchSeen(turn);
    const move = search && search.moves.find((one) => one.action === turn.move.action);
    if (move && move.mean !== null) values.push({ index, mean: move.mean, error: move.stderr || 0, changed: isChange(turn) });
  });
  const last = game.turns[END];
  // Where moves were searched, the scale begins below what was expected: that is where points go.
  // By some objectives a perfect game is worth more than its points.
  const most = Math.ceil(Math.max(game.config.colors * game.config.ranks, game.worth ?? 0, ...values.map((value) => value.mean)));
  const least = values.length
    ? Math.max(0, Math.floor(Math.min(...values.map((value) => value.mean - value.error), last.points)) - 1) : 0;
  const y = (points) => height - 8 - (height - 22) * Math.min(Math.max((points - least) / (most - least), -1), 1);
  const points = values.map((value) => [value.index, value.mean]);
  if (values.length && game.finished) points.push([END, game.worth ?? game.score ?? last.points]);
  const path = points.map(([index, mean], n) => (n ? "L" : "M") + `${x(index)} ${y(mean)}`).join("");
  const band = values.map((value, n) => (n ? "L" : "M") + `${x(value.index)} ${y(value.mean + value.error)}`).join("") +
    [...values].reverse().map((value) => `L${x(value.index)} ${y(value.mean - value.error)}`).join("") + "Z";
  const gap = [1, 2, 5, 10].find((size) => (most - least) / size <= 5) || 25;
  const ticks = [];
  for (let tick = most; tick >= least; tick -= gap) ticks.push(tick);
  picture.replaceChildren(
    ...ticks.map((tick) => svg("line", { x1: EDGE, x2: width - EDGE, y1: y(tick), y2: y(tick), class: "grid" })),
    svg("path", { d: steps((turn) => turn.possible), class: "c-possible" }),
    svg("path", { d: steps((turn) => turn.points), class: "c-table" }),
    ...(values.length ? [
      svg("path", { d: band, class: "c-error" }),
      svg("path", { d: path, class: "c-expected" }),
      ...values.map((value) => svg("circle", {
        cx: x(value.index), cy: y(value.mean), r: value.index === state.turn ? 5 : 3,
        class: "c-point" + (value.changed ? "" : " kept") + (value.index === state.turn ? " now" : ""),
      }))] : []),
    ...ticks.map((tick) => svg("text", { x: EDGE + 8, y: y(tick) - 3 }, String(tick))),
    svg("line", { x1: x(state.turn), x2: x(state.turn), y1: 4, y2: height - 4, class: "c-now" }));
  const key = (className, words, dot) => html("span", {}, svg("svg", { viewBox: "0 0 20 10", "aria-hidden": "true" },
    svg("path", { d: "M0 5H20", class: className }), dot && svg("circle", { cx: 10, cy: 5, r: 3, class: dot })), words);
  at("legend").replaceChildren(
    html("h2", {}, "Score over the game"),
    ...(values.length ? [key("c-expected", `expected at the end, ${analysed ? "mistake" : "move changed"}`, "c-point"),
      key("c-expected", analysed ? "no mistake" : "kept", "c-point kept")] : []),
    key("c-table", "on the table"), key("c-possible", "still possible"));
}

function turnUnder(event) {
  const box = at("curve").getBoundingClientRect();
  const share = (event.clientX - box.left - EDGE) / (box.width - 2 * EDGE);
  return Math.round(Math.min(Math.max(share, 0), 1) * END);
}

// --------------------------------------------------------------------------------------- stepping

function go(turn) {
  const next = Math.min(Math.max(turn, 0), END);
  const moved = next !== state.turn;
  state.turn = next;
  if (moved) state.selected = null;
  draw();
}

function change(direction) {
  for (let index = state.turn + direction; index >= 0 && index <= END; index += direction) {
    if (searchSeen(game.turns[index]) && isChange(game.turns[index])) return go(index);
  }
}

function look(eyes) {
  if (game.seat !== null) return;
  state.eyes = eyes;
  draw();
}

function draw() {
  const turn = game.turns[state.turn];
  at("table").replaceChildren(...drawTable(game, state.turn, {
    eyes: state.eyes, selected: state.selected,
    onCard: (_, order) => {
      state.selected = state.selected === order ? null : order;
      draw();
      const pressed = document.querySelector('.slot[aria-pressed="true"]');
      if (pressed) pressed.focus({ preventScroll: true });
    },
  }));
  showMover();
  drawDecision();
  drawBelief();
  drawMoves("end");
  showCurrentMove();
  drawCurve();
  at("slider").value = state.turn;
  at("slider").setAttribute("aria-valuetext", `turn ${state.turn + 1} of ${END + 1}`);
  at("at").replaceChildren(html("b", {}, turn.move ? `Turn ${state.turn + 1}` : "End"), html("span", { class: "quiet" }, ` of ${END}`));
  at("first").disabled = at("previous").disabled = state.turn === 0;
  at("last").disabled = at("next").disabled = state.turn === END;
  for (const button of at("eyes").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset.eyes === String(state.eyes)));
  }
  at("spoken").textContent = turn.move
    ? `Turn ${state.turn + 1}: P${turn.mover} ${inWords(state.turn, turn.move.action, true)}` : "The end";
  remember();
}

// The turn stands in the address, so that a link can name it.
let waiting = 0;
function remember() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    try { history.replaceState(null, "", "#turn=" + (state.turn + 1)); } catch { /* a frame without an address */ }
  }, 300);
}

function recall() {
  const found = /^#turn=(\d+)$/.exec(location.hash);
  go(found ? Number(found[1]) - 1 : state.turn);
}

const KEYS = {
  ArrowLeft: () => go(state.turn - 1), ArrowRight: () => go(state.turn + 1),
  PageUp: () => go(state.turn - 10), PageDown: () => go(state.turn + 10),
  Home: () => go(0), End: () => go(END),
  n: () => change(1), p: () => change(-1),
  a: () => look(null), t: toggleTheme, "?": () => at("guide").showModal(),
};

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || at("guide").open) return;
  if (event.target === at("slider") && /^(Arrow|Page|Home|End)/.test(event.key)) return; // it moves itself
  const seat = /^[0-4]$/.test(event.key) ? Number(event.key) : -1;
  if (seat >= 0 && seat < game.config.players) look(seat);
  else if (Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
  else return;
  event.preventDefault();
}

function begin() {
  const names = game.players.some((name) => name) ? game.players.map((name, p) => name || `P${p}`) : [];
  const same = names.length && names.every((name) => name === names[0]);
  const who = names.length ? (same ? `${names[0]}, all seats` : names.join(", ")) : `${game.config.players} players`;
  const title = `Game ${game.game}` + (game.score === null ? "" : `, ${game.score} of ${game.config.colors * game.config.ranks}`);
  document.title = `${title} \u00b7 Hanabi`;
  at("title").textContent = title;
  const facts = [who];
  if (game.seed !== null) facts.push(`seed ${game.seed}`);
  facts.push({
    exact: () => "exact beliefs over " + [...new Set(game.policies)].join(", "),
    hints: () => "beliefs by hints and copies",
    model: () => `${modelName(game)}, ${game.belief.samples.toLocaleString("en")} sampled hands`,
  }[game.belief.kind]());
  at("subtitle").textContent = facts.join(" \u00b7 ");
  at("subtitle").title = at("subtitle").textContent;
  const eyes = [null, ...game.players.keys()];
  if (game.seat !== null) at("eyes").replaceChildren(`as P${game.seat} saw it`);
  else {
    at("eyes").classList.add("of-" + game.config.players);
    at("eyes").replaceChildren(...eyes.map((seat) => html("button", {
      type: "button", "data-eyes": String(seat), onclick: () => look(seat),
      title: seat === null ? "All hands open (a)" : `What P${seat} sees (${seat})`,
    }, seat === null ? "All" : [`P${seat}`, html("span", { class: "sees" }, " sees")])));
  }
  const arrow = (d) => svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, svg("path", { d }));
  at("first").append(arrow("M1 1h2v10H1ZM11 1v10L3.5 6Z"));
  at("previous").append(arrow("M9.5 1v10L2 6Z"));
  at("next").append(arrow("M2.5 1v10L10 6Z"));
  at("last").append(arrow("M9 1h2v10H9ZM1 1v10L8.5 6Z"));
  at("changed").prepend(svg("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, svg("path", { d: SHAPES[1] })));
  at("first").onclick = KEYS.Home;
  at("previous").onclick = KEYS.ArrowLeft;
  at("next").onclick = KEYS.ArrowRight;
  at("last").onclick = KEYS.End;
  at("changed").hidden = !game.turns.some(isChange);
  if (analysed) {
    at("changed").title = "Next mistake (n)";
    at("changed").ariaLabel = "Next mistake";
    at("changed").querySelector("span").textContent = "Next mistake";
  }
  at("changed").onclick = KEYS.n;
  at("theme").onclick = toggleTheme;
  at("help").onclick = KEYS["?"];
  at("moves").className = "of-" + game.config.players;
  at("heads").replaceChildren(html("span"), ...game.players.map((name, seat) => html("span", { title: name }, `P${seat}`)));
  at("slider").max = END;
  at("slider").oninput = () => go(Number(at("slider").value));
  at("curve").addEventListener("pointerdown", (event) => { go(turnUnder(event)); at("curve").setPointerCapture(event.pointerId); });
  at("curve").addEventListener("pointermove", (event) => { if (event.buttons) go(turnUnder(event)); });
  at("keys").replaceChildren(...[
    ["\u2190 \u2192", "one move back, on"], ["Page up, down", "ten moves"], ["Home, End", "first turn, end"],
    ["n p", analysed ? "next, previous mistake" : "next, previous move that the search changed"], ["0 to 4, a", "what a seat sees, all hands open"],
    ["t", "light or dark"],
  ].flatMap(([key, words]) => [html("dt", {}, key), html("dd", {}, words)]));
  at("reading").replaceChildren(...[
    "Slots count from 0, the oldest card first. A turn shows the table before its move; marked cards are those that the move plays, discards or tells of.",
    "Under a card stand the colours and ranks that hints leave possible, what was told outright in reverse, and the holder's belief: the likeliest identities in percent. Click a card for all of them. An outline marks the true card.",
    "Discarded ranks stand under their firework, the last copy of one in bold red.",
    "Where a move was searched, each legal move has its expected final score. Pale moves with an open point were dropped early.",
  ].map((words) => html("p", {}, words)));
  new ResizeObserver(drawCurve).observe(at("curve"));
  window.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", recall);
  recall();
}

begin();
