"use strict";
// The table: cards, hands with what hints tell and holders believe, fireworks, tokens.
// Text of files becomes text nodes alone: nothing here writes markup.

const SVG = "http://www.w3.org/2000/svg";

function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}
const at = (id) => document.getElementById(id);
const html = (tag, attributes, ...children) => make(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => make(document.createElementNS(SVG, tag), attributes, children);

function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

const COLORS = [
  { name: "red", letter: "R" },
  { name: "yellow", letter: "Y" },
  { name: "green", letter: "G" },
  { name: "white", letter: "W" },
  { name: "blue", letter: "B" },
];
// One shape a colour, in a box of 12 by 12, so that nothing depends on colour alone.
const SHAPES = [
  "M6 .8 11.6 11.2H.4Z",
  "M6 .3 7.7 4.2 11.9 4.6 8.7 7.4 9.7 11.6 6 9.4 2.3 11.6 3.3 7.4 .1 4.6 4.3 4.2Z",
  "M6 .8a5.2 5.2 0 1 1 0 10.4a5.2 5.2 0 1 1 0-10.4Z",
  "M6 .2 11.4 6 6 11.8.6 6Z",
  "M1.2 1.2h9.6v9.6H1.2Z",
];

const colorOf = (game, identity) => Math.floor(identity / game.config.ranks);
const rankOf = (game, identity) => identity % game.config.ranks;
const cardName = (game, identity) =>
  identity === null ? "?" : COLORS[colorOf(game, identity)].letter + (rankOf(game, identity) + 1);
const percent = (share) => (share > 0.995 ? "100" : share < 0.005 ? "<1" : String(Math.round(100 * share)));

// White needs another fill where it stands for a length.
const barClass = (color) => `s-${COLORS[color].name} b-${COLORS[color].name}`;

function suitIcon(color, className) {
  return svg("svg", { viewBox: "0 0 12 12", class: className || "suit", "aria-hidden": "true" },
    svg("path", { d: SHAPES[color], class: "s-" + COLORS[color].name }));
}

// A card: face up with an identity, else its back with what hints have told outright.
function cardPicture(game, identity, hint, label) {
  const known = { color: null, rank: null };
  if (identity !== null) {
    known.color = colorOf(game, identity);
    known.rank = rankOf(game, identity);
  } else if (hint) {
    if (hint[2] & 1) known.color = Math.log2(hint[0]);
    if (hint[2] & 2) known.rank = Math.log2(hint[1]);
  }
  const suit = known.color === null ? null : COLORS[known.color];
  const up = identity !== null;
  const ink = up ? "i-" + suit.name : "ink-back";
  const spoken = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return svg("svg", { viewBox: "0 0 60 80", ...spoken },
    svg("rect", { x: 2, y: 2, width: 56, height: 76, rx: 8, class: "face " + (up ? "s-" + suit.name : "back") }),
    svg("text", { x: 30, y: 50, class: "rank " + ink }, known.rank === null ? "?" : String(known.rank + 1)),
    suit && svg("text", { x: 13, y: 20, class: "letter " + ink }, suit.letter),
    suit && svg("svg", { x: 40, y: 8, width: 13, height: 13, viewBox: "0 0 12 12" },
      svg("path", { d: SHAPES[known.color], class: up ? ink : "s-" + suit.name })),
    suit && up && svg("svg", { x: 24, y: 61, width: 12, height: 12, viewBox: "0 0 12 12" },
      svg("path", { d: SHAPES[known.color], class: ink })),
    svg("rect", { x: 3, y: 3, width: 54, height: 74, rx: 7, class: "frame" }));
}

function hintWords(game, hint) {
  const side = (names, mask) => {
    const possible = names.filter((_, index) => mask >> index & 1);
    const never = names.filter((_, index) => !(mask >> index & 1));
    if (!never.length) return [];
    return never.length < possible.length ? ["not " + never.join(" or ")] : [possible.join(" or ")];
  };
  const ranks = [...Array(game.config.ranks).keys()].map((rank) => String(rank + 1));
  const colors = COLORS.slice(0, game.config.colors).map((color) => color.name);
  const parts = [...side(colors, hint[0]), ...side(ranks, hint[1])];
  return parts.length ? "hints: " + parts.join(", ") : "no hints";
}

function toldMarks(game, hint) {
  const [colors, ranks, told] = hint;
  const mark = (text, possible, outright) =>
    html("i", { class: possible ? (outright ? "yes" : "") : "no" }, text);
  return html("div", { class: "told", "aria-hidden": "true" },
    html("div", {}, COLORS.slice(0, game.config.colors).map((color, index) =>
      mark(color.letter, colors >> index & 1, told & 1))),
    html("div", {}, [...Array(game.config.ranks).keys()].map((rank) =>
      mark(String(rank + 1), ranks >> rank & 1, told & 2))));
}

// The likeliest identities of a card as bars.
function beliefBars(game, chances, truth, rows) {
  const order = chances.map((chance, identity) => [chance, identity]).filter(([chance]) => chance > 0)
    .sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  const shown = order.slice(0, order.length > rows ? rows - 1 : rows);
  const others = order.length - shown.length;
  const rest = order.slice(shown.length).reduce((sum, [chance]) => sum + chance, 0);
  return html("div", { class: "bars" },
    shown.map(([chance, identity]) =>
      html("div", { class: "bar" + (identity === truth ? " true" : "") },
        html("span", { class: "what" }, cardName(game, identity)),
        svg("svg", { "aria-hidden": "true" },
          svg("rect", { width: "100%", height: "100%", rx: 2, class: "track" }),
          svg("rect", { width: 100 * chance + "%", height: "100%", rx: 2,
            class: barClass(colorOf(game, identity)) })),
        html("span", { class: "share" }, percent(chance)))),
    others > 0 && html("div", { class: "bar others" },
      html("span", {}, `+${others}`, html("span", { class: "more-word" }, " more")), html("span", {}, percent(rest))));
}

// Of beliefs that are a model's: which.
function modelName(game) {
  return (game.belief.policy ? "learned belief " : "belief ") + game.belief.name;
}

function seatName(game, seat) {
  return "P" + seat;
}

// What a pair of eyes sees of a card: its identity, or null. `eyes` null: everybody's.
function seenCard(game, eyes, holder, order) {
  return eyes === holder ? null : game.cards[order];
}

// How the move of a turn marks cards: order -> the words of its ribbon.
function marksOf(game, turn) {
  const marks = new Map();
  const move = turn.move;
  if (!move) return marks;
  const action = game.actions[move.action];
  if (move.card !== null) marks.set(move.card, action.type === "play" ? "plays" : "discards");
  else {
    const told = action.type === "reveal_color" ? COLORS[action.color].name : String(action.rank + 1);
    for (const order of move.touched) marks.set(order, told);
  }
  return marks;
}

function drawHand(game, turn, seat, view) {
  const { eyes, selected, onCard } = view;
  const marks = view.marks || marksOf(game, turn);
  const rows = game.config.players > 2 ? 4 : 5; // bars of a card
  const mind = eyes === null || eyes === seat ? turn.beliefs[seat] : null;
  const model = mind && mind.hands === null && modelName(game);
  const knows = mind && html("span", { class: "knows" + (mind.recovered ? " broken" : ""), title: model },
    model ||
      (mind.exact ? "" : "about ") + mind.hands.toLocaleString("en") + (mind.hands === 1 ? " possible hand" : " possible hands") +
      (mind.recovered ? ", evidence dropped" : ""));
  return html("section", {
    class: "hand" + (turn.mover === seat ? " moves" : ""),
    "aria-label": seatName(game, seat) + (turn.mover === seat ? ", to move" : ""),
  },
    html("div", { class: "holder" },
      html("b", {}, seatName(game, seat)),
      html("span", { class: "name" }, game.players[seat]),
      game.searched[seat] && !game.players[seat].includes("+") && html("span", { class: "name" }, "searches"),
      knows),
    html("div", { class: "slots of-" + game.config.hand_size }, turn.hands[seat].map((order, slot) => {
      const identity = seenCard(game, eyes, seat, order);
      const hint = turn.hints[seat][slot];
      const name = identity === null ? "hidden card" : cardName(game, identity);
      const label = `${seatName(game, seat)} slot ${slot}: ${name}, ${hintWords(game, hint)}` +
        (marks.has(order) ? `, ${marks.get(order)}` : "");
      return html("button", {
        type: "button",
        class: "slot" + (marks.has(order) ? " marked" : ""),
        "aria-label": label,
        "aria-pressed": String(selected === order),
        "data-order": order,
        onclick: () => onCard(seat, order),
      }, html("div", { class: "inside" },
        html("div", { class: "card" }, cardPicture(game, identity, hint),
          marks.has(order) && html("span", { class: "ribbon", "aria-hidden": "true" }, marks.get(order))),
        toldMarks(game, hint),
        mind && beliefBars(game, mind.slots[slot], identity, rows)));
    })),
    view.below && view.below(seat));
}

function drawMiddle(game, turn, before) {
  const config = game.config;
  const fresh = before && before.move && before.move.card !== null && before.move.scored !== true
    ? before.move.card : null;
  const gone = new Map();
  for (const order of turn.discards) gone.set(game.cards[order], (gone.get(game.cards[order]) || 0) + 1);
  const fireworks = turn.fireworks.map((height, color) => {
    const suit = COLORS[color];
    const dropped = turn.discards.filter((order) => colorOf(game, game.cards[order]) === color)
      .sort((a, b) => game.cards[a] - game.cards[b]);
    const picture = height
      ? cardPicture(game, color * config.ranks + height - 1, null, `${suit.name} firework at ${height}`)
      : svg("svg", { viewBox: "0 0 60 80", role: "img", "aria-label": `${suit.name} firework not begun` },
        svg("rect", { x: 2, y: 2, width: 56, height: 76, rx: 8, class: "face none" }),
        svg("text", { x: 13, y: 20, class: "letter ink-none" }, suit.letter),
        svg("svg", { x: 20, y: 30, width: 20, height: 20, viewBox: "0 0 12 12" },
          svg("path", { d: SHAPES[color], class: "ink-none" })));
    return html("div", { class: "firework" }, picture,
      html("div", { class: "discarded", "aria-label": `${suit.name} discarded` }, dropped.map((order) => {
        const identity = game.cards[order];
        const lost = gone.get(identity) === config.copies[rankOf(game, identity)];
        return html("span", {
          class: [lost && rankOf(game, identity) >= height ? "lost" : "", order === fresh ? "new" : ""].join(" "),
          title: cardName(game, identity) + (lost ? ", the last one" : ""),
        }, String(rankOf(game, identity) + 1));
      })));
  });
  const tokens = (count, most, kind) => html("span", { class: "tokens", "aria-hidden": "true" },
    most <= 10 && [...Array(most).keys()].map((index) =>
      svg("svg", { viewBox: "0 0 12 12" }, svg("path", {
        d: kind === "life" ? "M6 11C-3 5 2-1 6 3C10-1 15 5 6 11Z" : SHAPES[2],
        class: kind + (index < count ? " full" : " empty"),
      }))));
  const most = config.colors * config.ranks;
  return html("div", { class: "middle" },
    html("div", { class: "fireworks", role: "group", "aria-label": "Fireworks, and what was discarded" }, fireworks),
    html("dl", { class: "status" },
      html("dt", {}, "Score"),
      html("dd", { class: "score" }, String(turn.points),
        html("span", {}, ` of ${turn.possible < most ? turn.possible + " possible" : most}`)),
      html("dt", {}, "Hints"),
      html("dd", {}, tokens(turn.information, config.information_tokens, "hint"), String(turn.information)),
      html("dt", {}, "Lives"),
      html("dd", {}, tokens(turn.lives, config.life_tokens, "life"), String(turn.lives)),
      html("dt", {}, "Deck"),
      html("dd", {}, String(turn.deck))));
}

// view: eyes (a seat or null), selected (order of a card or null), onCard(seat, order); and where
// they are given marks (see `marksOf`) and below(seat), what stands under a hand.
function drawTable(game, index, view) {
  const turn = game.turns[index];
  return [
    drawMiddle(game, turn, game.turns[index - 1]),
    html("div", { class: `hands of-players-${game.config.players}` + (game.config.players > 2 ? " many" : "") },
      turn.hands.map((_, seat) => drawHand(game, turn, seat, view))),
  ];
}
