/* A page is worth what tools/search_weights.py found it to say about the words that are asked for; a page or a heading
   that is called by them comes before all others, an object of the library behind all pages. */
var Scorer = {
  weights: {},
  score: ([docname, title, anchor, descr, score]) => {
    const query = (new URLSearchParams(location.search).get("q") || "").toLowerCase().trim();
    const own = title.replace(/<[^>]*>/g, "").toLowerCase().replace(/^([\d.]+|[a-z]\.)\s*/, "");
    const words = splitQuery(query).filter((word) => !stopwords.includes(word));
    const stemmer = new Stemmer();
    // the square of a sum of roots: a page that says something about every word comes before one that says much about one
    const weight = (word) => Scorer.weights[stemmer.stemWord(word)]?.[docname] || 0;
    const said = words.reduce((sum, word) => sum + Math.sqrt(weight(word)), 0) ** 2 / (words.length || 1);
    if (/(^|\/)api$/.test(docname) && !descr) return said - 500;
    // a term of the glossary that is called by the query: Sphinx gives neither its name nor a description
    if (!descr && anchor.startsWith("#term-") && score >= 100) return 45;
    if (descr) return said / 10 - 1000 + score / 100;
    if (!query || !query.split(/\s+/).every((word) => own.includes(word))) return said + score / 100 - (anchor ? 1 : 0);
    return said + (anchor ? 50 : 1000 + (own.startsWith(query) ? 500 : 0)) * query.length / own.length;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
// a page opened from a disk may not fetch the others, which the excerpts are cut from
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
