// The order of what a search of the site finds: as Sphinx's own, but what explains comes before
// what was measured, and the changelog last.
const KINDS = { concepts: 4, searches: 4, how_to: 4, start: 4, tutorials: 4, policies: 4, games: 4 };

var Scorer = {
  score: ([docname, title, anchor, descr, score]) =>
    docname === "development/changelog" ? score - 20 : score + (KINDS[docname.split("/")[0]] ?? 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
