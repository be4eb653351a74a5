/* A query in small letters; what has a number is called by its kind, `lemma 16` for Lem.16. */
function named(query) {
  const kinds = ["theorem", "lemma", "proposition", "corollary", "definition", "figure", "exercise"];
  const short = /\b(theorem|thm|lemma|lem|proposition|prop|corollary|cor|definition|def|figure|fig|exercise|ex)\.?\s*(?=([a-h]\.)?\d)/g;
  return query.toLowerCase().replace(short, (_, word) => (word === "thm" ? "theorem" : kinds.find((kind) => kind.startsWith(word))) + " ");
}

/* What is asked for, in the words of the book and without those that only make a sentence of it. */
function asked(query) {
  const names = {
    cite: "citation", citing: "citation", bibtex: "citation", bf16: "bfloat16", fp16: "float16", fp32: "float32", qkv: "query key value", moe: "experts",
    mup: "rate width", "µp": "rate width", warmup: "warm", "warm-up": "warm", "newton-schulz": "newton–schulz",
    moonlight: "rate width", license: "licence", exercise: "seminar", exercises: "seminar", sure: "evidence",
    "d^2": "deflation", "d²": "deflation", hermitian: "dilation", tree: "theorem put together",
    conv1d: "conv", conv2d: "conv", conv3d: "conv", adapter: "lora", adapters: "lora", params: "parameters",
    beta: "momentum", transfer: "rate", widen: "width", spikes: "steps rate", spike: "steps rate", wider: "width", lm_head: "head vocabulary", unembedding: "head vocabulary",
    inspect: "doctor", examine: "doctor", analyse: "doctor", analyze: "doctor", confidence: "evidence", failed: "prediction misses", negative: "misses", talk: "lecture", centering: "centring", proved: "proved, and what is seen", homework: "seminar", thesis: "open problems", project: "open problems",
  };
  const sentence = "an how what which when where why who do does did should can could must have has need needed i me my we us our you "
    + "gets get your list many much more most than or so from about there's what's favour favor help use using topic plan take takes";
  const phrases = { "how long does": "ways through", "need to know": "prerequisites", "negative results?": "prediction misses", "not reproduced": "verdict",
    "proofs? (start|begin)": "ways through", "^(tied )?embeddings?$": "embeddings parameters" };
  const said = Object.entries(phrases).reduce((text, [from, to]) => text.replace(new RegExp(`\\b${from}\\b`), to), named(query));
  const words = said.replace(/newton[ -]schulz/g, "newton–schulz").replace(/[?!"“”:;,()]/g, "").trim().split(/\s+/).filter((word) => word);
  const meaning = /^mean(s|ing)?$/.test(words[words.length - 1]) && words.length > 1 ? words.slice(0, -1) : words;
  const left = meaning.filter((word) => !sentence.split(" ").includes(word) && !stopwords.includes(word));
  return (left.length ? left : words).map((word) => names[word] || word).join(" ");
}

/* The page on which every section is a question. */
const isQuestions = (docname) => docname.endsWith("practice/questions");

/* A page is worth what tools/search_weights.py found it to say about the words that are asked for; a page or a heading
   that is called by them comes before all others, an object of the library behind all pages. */
var Scorer = {
  weights: {}, elsewhere: [], numbered: {}, asked: "",
  score: ([docname, title, anchor, descr, score]) => {
    const query = Scorer.asked;
    const own = title.replace(/<[^>]*>/g, "").toLowerCase().replace(/^([\d.]+|[a-z]\.)\s*/, "");
    const words = splitQuery(query);
    const stemmer = new Stemmer();
    // the square of a sum of roots: a page that says something about every word comes before one that says much about one
    const weight = (word) => Scorer.weights[stemmer.stemWord(word)]?.[docname] || 0;
    const said = words.reduce((sum, word) => sum + Math.sqrt(weight(word)), 0) ** 2 / (words.length || 1);
    if (/(^|\/)api$/.test(docname) && !descr) return said - 500;
    // a term of the glossary that is called by the query: Sphinx gives neither its name nor a description
    if (!descr && anchor.startsWith("#term-") && score >= 100) return 45;
    if (descr) return said / 10 - 1000 + score / 100;
    // a question that is asked in these words comes before what a page of theory says about them, but not for one word
    if (anchor && isQuestions(docname) && words.every((word) => own.includes(stemmer.stemWord(word)))) return said + (words.length > 1 ? 700 : 1);
    if (!words.length || !words.every((word) => own.includes(word))) return said + score / 100 - (anchor ? 1 : 0);
    return said + (anchor ? 200 : 1000 + (own.startsWith(query) ? 500 : 0)) * query.length / own.length;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};

if (typeof Search !== "undefined") {
  const { query, htmlToText, performTermsSearch } = Search;
  // the page of questions opens at the shortest one that has all the words
  Search.performTermsSearch = (...terms) => performTermsSearch(...terms).map((hit) => {
    const [docname, title, ...rest] = hit, page = Search._index.docnames.indexOf(docname), stemmer = new Stemmer();
    const stems = splitQuery(Scorer.asked).map((word) => stemmer.stemWord(word));
    const sections = Object.entries(isQuestions(docname) ? Search._index.alltitles : {}).flatMap(([heading, places]) =>
      places.filter(([of, id]) => of === page && id && heading.includes("?") && stems.every((stem) => heading.toLowerCase().includes(stem)))
        .map(([, id]) => [heading, id])).sort(([one], [other]) => one.length - other.length);
    return sections.length ? [docname, `${title} > ${sections[0][0]}`, `#${sections[0][1]}`, ...rest.slice(1)] : hit;
  });
  // every word must be found: one that stands nowhere in the book would leave nothing
  const known = (word) => {
    const stem = new Stemmer().stemWord(word.toLowerCase());
    return [Search._index.terms, Search._index.titleterms].some((all) => stem in all || Object.keys(all).some((term) => term.includes(stem)));
  };
  Search.query = (text) => {
    Scorer.asked = asked(text);
    const words = splitQuery(asked(text)), finds = (some) => Search._performSearch(...Search._parseQuery(some.join(" "))).length;
    let left = words.filter(known);
    if (!left.length) return query(Scorer.asked);
    // nor does one that no page has beside the others
    while (left.length > 1 && !finds(left)) {
      left = left.map((_, at) => left.filter((_, k) => k !== at)).find(finds) || left.slice(1);
    }
    return query(left.length < words.length ? left.join(" ") : Scorer.asked);
  };
  // an excerpt is of sentences: no code, no outputs, no formulas as they are typed
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const box of page.querySelectorAll(".cell, .highlight, div.math, .bd-header-article, #jb-print-docs-body, .prev-next-area, .toctree-wrapper")) box.remove();
    for (const formula of page.querySelectorAll(".math")) formula.replaceWith("…");
    return htmlToText(page.documentElement.outerHTML, anchor);
  };
}
// the other book has a search of its own; its titles are known here, and where what has a number stands
document.addEventListener("DOMContentLoaded", () => {
  const other = document.querySelector(".other-book a"), results = document.getElementById("search-results");
  if (!other || !results || !location.search) return;
  const link = document.createElement("a");
  link.href = new URL("search.html" + location.search, other.href);
  link.textContent = "The same search in the other book";
  results.after(link);
  const query = new URLSearchParams(location.search).get("q") || "", words = splitQuery(asked(query));
  const called = ([title]) => words.length && words.every((word) => title.toLowerCase().includes(word));
  const first = ([title]) => title.toLowerCase().indexOf(words[0]);
  const others = Scorer.elsewhere.filter(called).sort((a, b) => first(a) - first(b)).slice(0, 3);
  const said = ` ${named(query).replace(/[?.,:;]+(?=\s|$)/g, "")} `;
  const boxes = Object.entries(Scorer.numbered).filter(([name]) => said.includes(` ${name} `));
  for (const [say, pages] of [["By its name: ", boxes.map(([, box]) => box)], ["In the other book: ", others]]) {
    const line = document.createElement("p");
    for (const [title, address] of pages) {
      line.append(line.children.length ? "; " : say, Object.assign(document.createElement("a"), { href: address, textContent: title }));
    }
    if (pages.length) results.before(line);
  }
});
// a page opened from a disk may not fetch the others, which the excerpts are cut from
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
