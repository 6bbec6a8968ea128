// The page: a model to try, to look classes up in and to read about; word vectors or a recommender to ask; or a run to watch.

import "./page.css";
import { classesView } from "./classes";
import { count, h, markup } from "./element";
import { address, here, type Keep, type View } from "./place";
import { recommendView } from "./recommend";
import { card, hasToken, health, keepToken, model, recommender, TokenNeeded, vectors } from "./server";
import { trainingView } from "./training";
import { tryView } from "./try";
import { analogiesView, neighboursView } from "./words";

const content = document.querySelector<HTMLElement>("#content")!;
const views = document.querySelector<HTMLElement>("#views")!;
const summary = document.querySelector<HTMLElement>("#summary")!;

function failed(error: unknown): void {
  if (error instanceof TokenNeeded) askForToken("That token is not the right one.");
  else summary.textContent = error instanceof Error ? error.message : String(error);
}

function askForToken(why: string): void {
  const field = h("input", { id: "token", autocomplete: "off", spellcheck: "false", required: true });
  const enter = (event: Event) => {
    event.preventDefault();
    keepToken(field.value.trim());
    void start();
  };
  views.replaceChildren();
  content.replaceChildren(
    h("form", { class: "token", onsubmit: enter }, h("p", {}, why), h("label", { for: "token" }, "Token"), field, h("button", {}, "Go on")),
  );
  field.focus();
}

/** One view a tab; each is made when it is first wanted and kept, so that nothing typed is lost. */
function tabs(all: [id: string, title: string, make: (keep: Keep) => View | Promise<View>][]): void {
  const made = new Map<string, View>();
  const links = all.map(([id, title]) => h("a", { href: `#${id}` }, title));
  const show = async () => {
    const [view, params] = here();
    const at = Math.max(0, all.findIndex(([id]) => id === view));
    const [id, , make] = all[at]!;
    const link = links[at]!;
    links.forEach((other) => (other === link ? other.setAttribute("aria-current", "page") : other.removeAttribute("aria-current")));
    // A tab leads to where it was left.
    const keep: Keep = (params, step = false) => {
      link.href = address(id, params);
      const is_shown = link.getAttribute("aria-current") !== null;
      if (!is_shown || link.hash === location.hash || (link.hash === `#${id}` && location.hash === "")) return;
      history[step ? "pushState" : "replaceState"](null, "", link.hash);
    };
    try {
      if (!made.has(id)) made.set(id, await make(keep));
      const { element, open } = made.get(id)!;
      content.replaceChildren(element);
      open(params);
    } catch (error) {
      failed(error);
    }
  };
  views.replaceChildren(...links);
  window.onhashchange = () => void show();
  void show();
}

async function start(): Promise<void> {
  try {
    const { serves, token } = await health();
    if (serves === "training") {
      content.replaceChildren(trainingView());
      return;
    }
    if (token && !hasToken()) {
      askForToken("This server asks for a token.");
      return;
    }
    const description = token ? "openapi.json, with the token" : h("a", { href: "openapi.json" }, "openapi.json");
    document.querySelector("footer")!.replaceChildren("For programs, over HTTP: ", description, ".");
    if (serves === "recommender") {
      const found = await recommender();
      document.title = `${found.name} · ove`;
      summary.textContent = `${count(found.users)} users · ${count(found.items)} items · ${count(found.interactions)} interactions`;
      tabs([["recommend", "Recommendations", (keep) => recommendView(found, keep, failed)]]);
      return;
    }
    if (serves === "words") {
      const found = await vectors();
      document.title = `${found.name} · ove`;
      summary.textContent = `${count(found.words)} words · ${count(found.rank)} numbers each`;
      tabs([
        ["words", "Neighbours", (keep) => neighboursView(found, keep, failed)],
        ["analogies", "Analogies", (keep) => analogiesView(keep, failed)],
      ]);
      return;
    }
    const found = await model();
    document.title = `${found.name} · ove`;
    summary.textContent = `${count(found.classes)} classes · ${count(found.features)} ${found.takes_texts ? "words" : "features"} · ${count(found.rows)} training rows`;
    tabs([
      ["try", "Try it", (keep) => tryView(found, keep, failed)],
      ["classes", "Classes", (keep) => classesView(keep, failed)],
      ["model", "The model", async () => ({ element: h("article", { class: "card" }, markup(await card())), open: () => {} })],
    ]);
  } catch (error) {
    failed(error);
  }
}

void start();
