// Word vectors: the neighbours of a word, and analogies, each with a map of what was found.

import { count, h, head } from "./element";
import { wordMap } from "./map";
import type { Keep, View } from "./place";
import { analogy, similar, starting, type Found, type Vectors } from "./server";

const TOP = 20;
const ANSWERS = 5;
const PAUSE = 150;

const NOTE = "Words that are close here are similar; the map keeps what two directions can of the distances between their vectors.";

/** A box for a word, which offers words that start like what is typed. */
function box(id: string, title: string, changed: () => void, failed: (error: unknown) => void): [HTMLElement, HTMLInputElement] {
  const words = h("datalist", { id: `${id}-words` });
  let [timer, asked] = [0, 0];
  const offer = async () => {
    const ask = ++asked;
    try {
      const found = field.value === "" ? [] : await starting(field.value);
      if (ask === asked) words.replaceChildren(...found.map((word) => h("option", { value: word })));
    } catch (error) {
      failed(error);
    }
  };
  const typed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      void offer();
      changed();
    }, PAUSE);
  };
  const field = h("input", { id, list: words.id, autocomplete: "off", autocapitalize: "none", spellcheck: "false", oninput: typed });
  return [h("div", {}, h("label", { for: id }, title), field, words), field];
}

/** A list of words, each with its cosine, and their map. */
class Answers {
  readonly list = h("ol", { class: "classes" });
  readonly heads = head("Word", "Cosine");
  readonly status = h("p", { class: "quiet", role: "status" });
  readonly map = h("div");

  constructor(name: string, private readonly open: (word: string) => void) {
    this.list.setAttribute("aria-label", name);
    this.hide("");
  }

  show(asked: string[], found: Found, lines: [number, number][]): void {
    const row = (word: string, at: number) => {
      const score = found.scores[at] ?? 0;
      return h(
        "li",
        {},
        h(
          "button",
          { type: "button", onclick: () => this.open(word) },
          h("span", { class: "name" }, word),
          h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "bar for", style: `width:${100 * Math.max(score, 0)}%` })),
          h("span", { class: "number" }, score.toFixed(3)),
        ),
      );
    };
    this.list.replaceChildren(...found.words.map(row));
    this.status.textContent = "";
    this.heads.hidden = this.map.hidden = false;
    this.map.replaceChildren(wordMap([...asked, ...found.words], found.map, asked.length, lines, this.open), h("p", { class: "quiet" }, NOTE));
  }

  hide(why: string): void {
    this.list.replaceChildren();
    this.status.textContent = why;
    this.heads.hidden = this.map.hidden = true;
  }
}

const learned = (found: Vectors) => (found.trained ? ` They were learned from a text of ${count(found.trained.text_words)} words.` : "");

/** A word and its neighbours. */
export function neighboursView(vectors: Vectors, keep: Keep, failed: (error: unknown) => void): View {
  const answers = new Answers("Neighbours", (word) => use(word));
  const [row, field] = box("word", "Word", () => void now(), failed);
  let asked = 0;
  const now = async (step = false) => {
    const ask = ++asked;
    const word = field.value.trim();
    keep({ word }, step);
    if (word === "") return answers.hide("");
    try {
      const found = await similar(word, TOP);
      if (ask === asked) answers.show([word], found, []);
    } catch (error) {
      if (ask === asked) answers.hide(error instanceof Error ? error.message : "");
    }
  };
  const use = (word: string) => {
    field.value = word;
    void now(true);
  };
  const example = (word: string) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => use(word) }, word));
  const opening = h(
    "section",
    { class: "opening" },
    h("h2", {}, vectors.name),
    h("p", {}, `Vectors of ${count(vectors.words)} words: similar words have similar vectors.${learned(vectors)}`),
    h("ul", { class: "examples inline", "aria-label": "Examples" }, ...vectors.examples.map(example)),
  );
  const left = h("div", { class: "ask" }, row, answers.status, answers.heads, answers.list);
  return {
    element: h("div", {}, opening, h("div", { class: "columns" }, left, answers.map)),
    open({ word }) {
      field.value = word ?? "";
      void now();
    },
  };
}

/** a is to b as c is to what? */
export function analogiesView(keep: Keep, failed: (error: unknown) => void): View {
  const answers = new Answers("Answers", (word) => location.assign(`#words?${new URLSearchParams({ word })}`));
  const boxes = ([["a", "This word"], ["b", "is to this one"], ["c", "as this one is to …"]] as const).map(([id, title]) => box(id, title, () => void now(), failed));
  let asked = 0;
  const now = async () => {
    const ask = ++asked;
    const [a, b, c] = boxes.map(([, field]) => field.value.trim()) as [string, string, string];
    keep({ a, b, c });
    if (a === "" || b === "" || c === "") return answers.hide("");
    try {
      const found = await analogy([a, b, c], ANSWERS);
      if (ask !== asked) return;
      answers.show([a, b, c], found, found.words.length > 0 ? [[0, 1], [2, 3]] : [[0, 1]]);
    } catch (error) {
      if (ask === asked) answers.hide(error instanceof Error ? error.message : "");
    }
  };
  const left = h("div", { class: "ask" }, h("div", { class: "analogy" }, ...boxes.map(([row]) => row)), answers.status, answers.heads, answers.list);
  return {
    element: h("div", { class: "columns" }, left, answers.map),
    open(given) {
      boxes.forEach(([, field]) => (field.value = given[field.id] ?? ""));
      void now();
    },
  };
}
