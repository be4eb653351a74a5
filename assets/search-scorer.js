/* Sphinx's weights, and a page whose own title holds every word that is asked for before all others. */
var Scorer = {
  score: ([docname, title, anchor, , score]) => {
    const query = (new URLSearchParams(location.search).get("q") || "").toLowerCase().trim();
    const own = title.replace(/<[^>]*>/g, "").toLowerCase().replace(/^[\d.]+\s*/, "");
    if (anchor || !query || !query.split(/\s+/).every((word) => own.includes(word))) return score;
    return score + 1000 + (own.startsWith(query) ? 500 : 0) + 100 * query.length / own.length;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
// a page opened from a disk may not fetch the others, which the excerpts are cut from
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
