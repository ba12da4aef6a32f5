// The form of a new table: who sits where, which game, how much advice may cost.

const offered = JSON.parse(document.getElementById("document").textContent);
const PERSON = "a person";
const seats = []; // of each: who, policy, search, budget
const values = {
  colors: 5, ranks: 5, hand_size: 0, information_tokens: 8, life_tokens: 3, bomb: "zero", random_start_player: false,
};
const more = { advice: offered.advice, belief: "exact", seed: "" };

const searchNamed = (name) => offered.searches.find((search) => search.name === name);

function field(words, control) {
  return html("label", {}, words, control);
}

function choice(options, chosen, onchange, label) {
  return html("select", { onchange: (event) => onchange(event.target.value), "aria-label": label },
    options.map(([value, words]) => html("option", { value, selected: value === chosen }, words)));
}

function number(value, least, most, onchange, label) {
  return html("input", {
    type: "number", value, min: least, max: most, step: 1, inputmode: "numeric", "aria-label": label,
    oninput: (event) => onchange(event.target.value === "" ? "" : Number(event.target.value)),
  });
}

function drawPlayers() {
  at("players").replaceChildren(...[2, 3, 4, 5].map((count) => html("button", {
    type: "button", "aria-pressed": String(seats.length === count), onclick: () => setPlayers(count),
  }, `${count} players`)));
}

function setPlayers(count) {
  while (seats.length > count) seats.pop();
  while (seats.length < count) {
    seats.push({ who: seats.length ? "policy" : "person", policy: "smartbot", search: "none", budget: null });
  }
  drawPlayers();
  drawSeats();
}

function drawSeats() {
  const names = offered.policies.map(({ name }) => [name, name]);
  at("seats").replaceChildren(...seats.map((seat, number_) => {
    const person = seat.who === "person";
    const search = searchNamed(seat.search);
    const about = offered.policies.find(({ name }) => name === seat.policy).about;
    return html("div", { class: "seat", role: "group", "aria-label": `Seat P${number_}` },
      html("b", {}, `P${number_}`),
      field("Who", choice([["person", PERSON], ["policy", "a policy"]], seat.who, (who) => {
        seat.who = who;
        seat.search = "none";
        drawSeats();
      }, `Who sits at P${number_}`)),
      field(person ? "Taken by the others for" : "Policy", choice(names, seat.policy, (name) => { seat.policy = name; drawSeats(); }, `Policy of P${number_}`)),
      !person && field("Search over it", choice([["none", "none"], ...offered.searches.map(({ name }) => [name, name])], seat.search, (name) => {
        seat.search = name;
        seat.budget = name === "none" ? null : searchNamed(name).budget.default;
        drawSeats();
      }, `Search of P${number_}`)),
      search && field(`${search.budget.name} a move`, number(seat.budget, 1, offered.most[search.budget.name], (value) => { seat.budget = value; }, `Budget of P${number_}`)),
      html("p", { class: "facts" }, (person ? "" : about) + (search ? `; ${search.about}` : "")));
  }));
}

function drawFields() {
  const of = (name, words, least, most) => field(words, number(values[name], least, most, (value) => { values[name] = value; }, words));
  at("variant").replaceChildren(
    of("colors", "Colours", 1, 5), of("ranks", "Ranks of a colour", 1, 5),
    of("hand_size", "Cards a hand (0: the rule book's)", 0, 8),
    of("information_tokens", "Hints", 0, 50), of("life_tokens", "Lives", 1, 50),
    field("When the last life is lost", choice([["zero", "the score is 0"], ["keep", "points are kept"], ["minus_one", "one point is lost"]],
      values.bomb, (value) => { values.bomb = value; }, "When the last life is lost")),
    field("Draw who starts", html("input", { type: "checkbox", onchange: (event) => { values.random_start_player = event.target.checked; } })));
  at("more").replaceChildren(
    field("Rollouts of advice", number(more.advice, 1, offered.most.advice, (value) => { more.advice = value; }, "Rollouts of advice")),
    field("Beliefs in the analysis", choice(offered.beliefs.map((name) => [name, name]), more.belief,
      (name) => { more.belief = name; }, "Beliefs in the analysis")),
    field("Seed (empty: drawn)", number(more.seed, 0, 2 ** 31, (value) => { more.seed = value; }, "Seed")));
}

async function open(event) {
  event.preventDefault();
  at("why").textContent = "";
  at("open").disabled = true;
  const wish = {
    config: values, advice: more.advice, belief: more.belief,
    ...(more.seed === "" ? {} : { seed: more.seed }),
    seats: seats.map(({ who, policy, search, budget }) => ({
      who, policy, search, options: search === "none" ? {} : { [searchNamed(search).budget.name]: budget },
    })),
  };
  try {
    const answer = await fetch("tables", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wish),
      credentials: "omit", redirect: "error",
    });
    const found = await answer.json();
    if (found.why) at("why").textContent = found.why;
    else if (found.seats.length === 1) location.assign(found.seats[0].address);
    else show(found.seats);
  } catch {
    at("why").textContent = "The server does not answer.";
  } finally {
    at("open").disabled = false;
  }
}

// Several people: each seat has an address of its own, to be handed to whoever sits there.
function show(opened) {
  at("opened").hidden = false;
  at("opened").replaceChildren(html("h2", {}, "The table is open"),
    html("p", { class: "facts" }, "Each seat has an address of its own. Whoever opens it plays there and sees what that seat sees."),
    ...opened.map(({ seat, address }) => {
      const whole = new URL(address, location.href).href;
      return html("div", { class: "address" }, html("b", {}, `P${seat}`),
        html("a", { class: "wide", href: address, target: "_blank", rel: "noopener" }, "Sit down"),
        html("code", {}, whole));
    }));
  at("opened").scrollIntoView({ block: "nearest" });
}

document.title = "Tables of Hanabi";
at("theme").onclick = toggleTheme;
at("form").addEventListener("submit", open);
setPlayers(2);
drawFields();
