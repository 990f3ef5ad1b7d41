// What Sphinx's search gives each hit: chapters come before reference, first those whose title has the words,
// and of those that are alike the one that is read first.
// Sphinx puts this into its search when the site is built.
var Scorer = {
  score: ([page, title, , , score]) => {
    const asked = new URLSearchParams(location.search).get("q")?.toLowerCase().trim();
    const isChapter = /^book\/(\d\d_|gpu$|xray$)/.test(page);
    const isNamed = asked && title.toLowerCase().includes(asked);
    if (page.startsWith("book/api")) return score - 100;
    if (page.startsWith("book/evidence/")) return score - 10;
    const place = parseInt(page.slice("book/".length)) || 0;
    return score + (isChapter ? 30 : 0) + (isNamed ? (isChapter ? 60 : 20) : 0) - place / 100;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
