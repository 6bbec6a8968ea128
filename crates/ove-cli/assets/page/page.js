// src/element.ts
/** An element with attributes (a function under `on…` is a listener) and children. */
function h(tag, attributes = {}, ...children) {
	return set(document.createElement(tag), attributes, children);
}
function set(element, attributes, children) {
	for (const [name, value] of Object.entries(attributes)) {
		if (value === void 0 || value === false) continue;
		if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
		else element.setAttribute(name, value === true ? "" : String(value));
	}
	element.append(...children.filter((child) => child instanceof Node || typeof child === "string"));
	return element;
}
/** An element of a drawing. */
function draw(tag, attributes = {}, ...children) {
	return set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
/** What stands above a list: the names of its columns. */
var head = (name, number) => h("p", { class: "head" }, h("span", {}, name), h("span", {}, number));
/** Markup that this server has made, such as its charts. */
function markup(html) {
	const template = document.createElement("template");
	template.innerHTML = html;
	return template.content;
}
var whole = new Intl.NumberFormat("en");
/** With its thousands apart. */
var count = (number) => whole.format(number);
/** As a share: 42%, 3.1%, 0.02%. */
function percent(share) {
	const value = 100 * share;
	const digits = value >= 9.95 ? 0 : value >= .095 ? 1 : 2;
	return value > 0 && value < .005 ? "<0.01%" : `${value.toFixed(digits)}%`;
}
/** With its sign, and a minus as wide as the plus. */
var signed = (number) => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(2)}`;
// src/server.ts
/** The server asks for a token, or for another one. */
var TokenNeeded = class extends Error {};
var KEY = "ove-token";
var keepToken = (token) => sessionStorage.setItem(KEY, token);
var hasToken = () => sessionStorage.getItem(KEY) !== null;
async function ask(path, body) {
	const headers = {};
	const token = sessionStorage.getItem(KEY);
	if (token !== null) headers["authorization"] = `Bearer ${token}`;
	if (body !== void 0) headers["content-type"] = "application/json";
	const request = body === void 0 ? { headers } : {
		method: "POST",
		headers,
		body: JSON.stringify(body)
	};
	const response = await fetch(path, request);
	if (response.status === 401) {
		sessionStorage.removeItem(KEY);
		throw new TokenNeeded();
	}
	if (!response.ok) {
		const { error } = await response.json().catch(() => ({}));
		throw new Error(error ?? `the server answered ${response.status}`);
	}
	return response;
}
var get = async (path) => (await ask(path)).json();
var health = () => get("health");
var model = () => get("model");
var card = async () => (await ask("card")).text();
var training = () => get("training");
var classes = (part) => get(`classes?limit=30&search=${encodeURIComponent(part)}`);
var vectors = () => get("model");
/** Words that start like this. */
var starting = async (prefix) => (await get(`words?limit=8&prefix=${encodeURIComponent(prefix)}`)).words;
var similar = (word, top) => get(`similar?${new URLSearchParams({
	word,
	top: String(top)
})}`);
var analogy = ([a, b, c], top) => get(`analogy?${new URLSearchParams({
	a,
	b,
	c,
	top: String(top)
})}`);
var recommender = () => get("model");
/** Users whose name has this in it, each with what to say of them. */
var usersWith = async (part) => (await get(`users?limit=8&search=${encodeURIComponent(part)}`)).users.map(({ user, count }) => [user, `${count} items`]);
/** Items whose name has this in it, each with what to say of it. */
var itemsWith = async (part) => (await get(`items?limit=8&search=${encodeURIComponent(part)}`)).items.map(({ item, name }) => [item, name]);
var recommend = async (whom, top) => (await ask("recommend", {
	...whom,
	top
})).json();
var similarItems = (item, top) => get(`similar?${new URLSearchParams({
	item,
	top: String(top)
})}`);
async function predict(input, top) {
	return (await (await ask("predict", {
		...input,
		top
	})).json()).predictions[0] ?? {
		labels: [],
		probabilities: [],
		known: 0
	};
}
var explain = async (label, input) => (await ask("explain", {
	class: label,
	...input,
	top: 8
})).json();
// src/detail.ts
/** Words with a bar each, on one scale: to the right of the axis what speaks for the class, to the left what speaks against it. */
function bars(title, unit, words) {
	const numbers = words.map(({ number }) => number);
	const [least, most] = [Math.min(...numbers, 0), Math.max(...numbers, 1e-9)];
	const share = (number) => 100 * number / (most - least);
	const item = ({ word, number }) => {
		const place = `left:${share(Math.min(number, 0) - least)}%;width:${share(Math.abs(number))}%`;
		const bar = h("span", {
			class: `bar ${number < 0 ? "against" : "for"}`,
			style: place
		});
		return h("li", {}, h("span", { class: "word" }, word.feature), h("span", {
			class: "axis",
			"aria-hidden": "true"
		}, bar), h("span", { class: "number" }, signed(number)));
	};
	const list = h("ul", {
		class: "words",
		style: `--axis:${share(-least)}%`
	}, ...words.map(item));
	return h("section", {}, h("h3", {}, title), head("Word", unit), list);
}
/** The text, its words shaded by how much they say. */
function shaded(text, words) {
	const most = Math.max(...words.map(({ number }) => Math.abs(number)), 1e-9);
	const number = new Map(words.map(({ word, number }) => [word.feature, number]));
	return h("p", { class: "shaded" }, ...text.slice(0, 600).split(/([\p{L}\p{N}_]+)/u).map((piece) => {
		const value = number.get(piece.toLowerCase()) ?? 0;
		const share = Math.abs(value) / most;
		if (share < .02) return piece;
		return h("mark", {
			class: value < 0 ? "against" : "for",
			style: `--share:${(55 * share).toFixed(0)}%`,
			title: signed(value)
		}, piece);
	}), text.length > 600 && "…");
}
function about(found, input, open) {
	const products = found.row && [...found.row.for.map((word) => ({
		word,
		number: word.product
	})), ...found.row.against.map((word) => ({
		word,
		number: word.product
	})).reverse()];
	const weights = [...found.general.for.map((word) => ({
		word,
		number: word.weight
	})), ...found.general.against.slice(0, 4).map((word) => ({
		word,
		number: word.weight
	})).reverse()];
	const nothing = products?.length === 0 && h("p", { class: "quiet" }, "No word here speaks for it or against it.");
	const rival = (rival) => h("li", {}, h("button", {
		type: "button",
		class: "link",
		onclick: () => open(rival.class)
	}, rival.name ?? rival.class), h("span", { class: "number" }, count(rival.count)));
	const name = found.name ?? found.class;
	return [
		h("h2", { tabindex: "-1" }, name),
		h("p", { class: "quiet" }, name !== found.class && `${found.class} · `, `${count(found.count)} of ${count(found.rows)} training rows (${percent(found.count / found.rows)})`),
		...products && input && "text" in input ? [shaded(input.text, products)] : [],
		...products?.length ? [bars("In this text", "Adds to the score", products)] : [],
		...nothing ? [nothing] : [],
		bars("In general", "Weight", weights),
		...found.rivals.length ? [h("section", {}, h("h3", {}, "Nearest rivals"), head("Class", "Training rows"), h("ul", { class: "rivals" }, ...found.rivals.map(rival)))] : []
	];
}
/** A place for classes, one at a time. */
var Detail = class {
	failed;
	shown;
	element = h("aside", {
		class: "detail",
		"aria-label": "About the class",
		"aria-live": "polite",
		hidden: true
	});
	asked = 0;
	/** The class that is shown, or about to be. */
	label = null;
	constructor(failed, shown = () => {}) {
		this.failed = failed;
		this.shown = shown;
	}
	/** Shows a class; the focus goes there if somebody asked for it. */
	async show(label, input, focus = true) {
		const asked = ++this.asked;
		this.label = label;
		try {
			const found = await explain(label, input);
			if (asked !== this.asked) return;
			this.element.replaceChildren(...about(found, input, (rival) => void this.show(rival, input)));
			this.element.hidden = false;
			this.shown(label);
			if (focus) this.element.querySelector("h2")?.focus({ preventScroll: innerWidth >= 900 });
		} catch (error) {
			this.failed(error);
		}
	}
	/** The same class for another text. */
	again(input) {
		if (this.label !== null && !this.element.hidden) this.show(this.label, input, false);
	}
	hide() {
		this.asked++;
		this.label = null;
		this.element.hidden = true;
	}
};
// src/classes.ts
function classesView(keep, failed) {
	const list = h("ul", {
		class: "classes",
		"aria-label": "Classes"
	});
	const status = h("p", {
		class: "quiet",
		role: "status"
	});
	const select = (label) => {
		for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["class"] === label));
	};
	const detail = new Detail(failed, (label) => {
		select(label);
		keep({
			search: box.value.trim(),
			class: label
		}, true);
	});
	const row = (found) => h("li", {}, h("button", {
		type: "button",
		"data-class": found.class,
		"aria-pressed": String(found.class === detail.label),
		onclick: () => void detail.show(found.class, null)
	}, h("span", { class: "name" }, found.name ?? found.class), h("span", { class: "number" }, count(found.count))));
	let asked = 0;
	const find = async () => {
		const ask = ++asked;
		try {
			const found = await classes(box.value.trim());
			if (ask !== asked) return;
			list.replaceChildren(...found.classes.map(row));
			const shown = found.classes.length;
			status.textContent = shown < found.total ? `${shown} of ${count(found.total)}, the most frequent first` : `${count(found.total)} found`;
		} catch (error) {
			failed(error);
		}
	};
	const typed = () => {
		keep({
			search: box.value.trim(),
			class: detail.label ?? ""
		});
		find();
	};
	const box = h("input", {
		id: "search",
		type: "search",
		placeholder: "Any part of a label or name",
		autocomplete: "off",
		oninput: typed
	});
	return {
		element: h("div", { class: "columns" }, h("div", { class: "ask" }, h("label", { for: "search" }, "Class"), box, status, head("Class", "Training rows"), list), detail.element),
		open({ search = "", class: label }) {
			box.value = search;
			find();
			if (label === void 0) {
				detail.hide();
				select(null);
			} else detail.show(label, null, false);
		}
	};
}
function here() {
	const [view = "", query = ""] = location.hash.slice(1).split("?");
	return [view, Object.fromEntries(new URLSearchParams(query))];
}
function address(view, params) {
	const given = Object.entries(params).filter(([, value]) => value !== "" && value.length <= 2e3);
	const query = new URLSearchParams(given).toString();
	return query === "" ? `#${view}` : `#${view}?${query}`;
}
// src/recommend.ts
var TOP$2 = 10;
var PAUSE$3 = 150;
var title = ({ item, name }) => name ?? item;
/** A box that offers what the server finds; `chosen` is called with a name when Enter is pressed or an offer is taken. */
function box$1(id, what, hint, offers, chosen, failed) {
	const list = h("datalist", { id: `${id}-offers` });
	let [timer, asked] = [0, 0];
	let names = [];
	const offer = async () => {
		const ask = ++asked;
		try {
			const found = field.value === "" ? [] : await offers(field.value);
			if (ask !== asked) return;
			names = found.map(([name]) => name);
			list.replaceChildren(...found.map(([value, label]) => h("option", {
				value,
				label
			})));
		} catch (error) {
			failed(error);
		}
	};
	const take = () => {
		if (field.value.trim() !== "") chosen(field.value.trim());
	};
	const typed = () => {
		clearTimeout(timer);
		if (names.includes(field.value)) return take();
		timer = setTimeout(() => void offer(), PAUSE$3);
	};
	const entered = (event) => {
		if (event.key === "Enter") take();
	};
	const field = h("input", {
		id,
		list: list.id,
		placeholder: hint,
		autocomplete: "off",
		autocapitalize: "none",
		spellcheck: "false",
		oninput: typed,
		onkeydown: entered
	});
	return [h("div", {}, h("label", { for: id }, what), field, list), field];
}
/** Items with a bar each: how much they add to a score. */
function reasons(all, open) {
	const most = Math.max(...all.map(({ score }) => score), 1e-9);
	const row = (one) => h("li", {}, h("button", {
		type: "button",
		class: "link word",
		onclick: () => open(one.item)
	}, title(one)), h("span", {
		class: "axis",
		"aria-hidden": "true"
	}, h("span", {
		class: "bar for",
		style: `left:0;width:${100 * one.score / most}%`
	})), h("span", { class: "number" }, `+${one.score.toFixed(2)}`));
	return h("section", {}, h("h3", {}, "Because of"), head("Item", "Adds to the score"), h("ul", {
		class: "words",
		style: "--axis:0%"
	}, ...all.map(row)));
}
function recommendView(model, keep, failed) {
	let items = [];
	let shown = null;
	let [asked, askedItem] = [0, 0];
	let found = [];
	const [userRow, user] = box$1("user", "User", "A user of the training data", usersWith, (name) => use(name, []), failed);
	const [itemRow, item] = box$1("item", "Or items, for somebody new", "An item to add", itemsWith, (name) => add(name), failed);
	const chips = h("ul", {
		class: "chips",
		"aria-label": "Chosen items"
	});
	const status = h("p", {
		class: "quiet",
		role: "status"
	});
	const heads = head("Recommended item", "Score");
	const list = h("ol", {
		class: "classes",
		"aria-label": "Recommendations"
	});
	const detail = h("aside", {
		class: "detail",
		"aria-label": "About the item",
		"aria-live": "polite",
		hidden: true
	});
	const place = (step = false) => keep({
		user: user.value.trim(),
		items: items.length > 0 ? JSON.stringify(items) : "",
		item: shown ?? ""
	}, step);
	const use = (name, others) => {
		user.value = name;
		item.value = "";
		items = others;
		shown = null;
		now(true);
	};
	const add = (name) => use("", items.includes(name) ? items : [...items, name]);
	const pressed = () => {
		for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["item"] === shown));
	};
	const row = (one) => h("li", {}, h("button", {
		type: "button",
		"data-item": one.item,
		"aria-pressed": "false",
		onclick: () => void open(one.item, true)
	}, h("span", { class: "name" }, title(one)), h("span", { class: "number" }, one.score.toFixed(2)), one.because.length > 0 && h("span", { class: "why" }, `because of ${one.because.map(title).join(", ")}`)));
	/** Shows an item: why it is recommended, if it is, and what is similar. */
	const open = async (name, step) => {
		const ask = ++askedItem;
		try {
			const about = await similarItems(name, TOP$2);
			if (ask !== askedItem) return;
			shown = name;
			const why = found.find((one) => one.item === name)?.because ?? [];
			const neighbour = (one) => h("li", {}, h("button", {
				type: "button",
				class: "link",
				onclick: () => void open(one.item, true)
			}, title(one)), h("span", { class: "number" }, one.score.toFixed(3)));
			detail.replaceChildren(h("h2", { tabindex: "-1" }, title(about)), h("p", { class: "quiet" }, `${count(about.count)} of ${count(model.users)} users have it. `, h("button", {
				type: "button",
				class: "link",
				onclick: () => add(name)
			}, "Recommend for this item")), ...why.length > 0 ? [reasons(why, (other) => void open(other, true))] : [], h("section", {}, h("h3", {}, "Similar items"), head("Item", "Cosine"), h("ul", { class: "rivals" }, ...about.similar.map(neighbour))));
			detail.hidden = false;
			pressed();
			place(step);
			if (step) detail.querySelector("h2")?.focus({ preventScroll: innerWidth >= 900 });
		} catch (error) {
			status.textContent = error instanceof Error ? error.message : "";
		}
	};
	const now = async (step = false) => {
		const ask = ++asked;
		askedItem++;
		const name = user.value.trim();
		const remove = (name) => h("li", {}, h("button", {
			type: "button",
			"aria-label": `Remove ${name}`,
			onclick: () => use("", items.filter((other) => other !== name))
		}, `${name} ×`));
		chips.replaceChildren(...items.map(remove));
		chips.hidden = items.length === 0;
		place(step);
		if (shown === null) detail.hidden = true;
		if (name === "" && items.length === 0) {
			found = [];
			list.replaceChildren();
			heads.hidden = true;
			status.textContent = "";
			return;
		}
		try {
			const answer = await recommend(name === "" ? { items } : { user: name }, TOP$2);
			if (ask !== asked) return;
			found = answer.items;
			list.replaceChildren(...found.map(row));
			heads.hidden = false;
			const has = answer.has.slice(0, 5).map(title).join(", ");
			const more = answer.has.length > 5 ? ` and ${count(answer.has.length - 5)} more` : "";
			status.textContent = name === "" ? "" : has === "" ? "Has no items." : `Has ${has}${more}.`;
			if (shown !== null) open(shown, false);
		} catch (error) {
			if (ask !== asked) return;
			list.replaceChildren();
			heads.hidden = true;
			status.textContent = error instanceof Error ? error.message : "";
		}
	};
	const example = (name) => h("li", {}, h("button", {
		type: "button",
		class: "link",
		onclick: () => use(name, [])
	}, name));
	const opening = h("section", { class: "opening" }, h("h2", {}, model.name), h("p", {}, `Recommends ${count(model.items)} items, to ${count(model.users)} users and to anybody who names some items, and says why. It learned from ${count(model.interactions)} interactions.`), h("p", { class: "quiet" }, "Some users, to try:"), h("ul", {
		class: "examples inline",
		"aria-label": "Examples"
	}, ...model.examples.map(example)));
	heads.hidden = true;
	return {
		element: h("div", {}, opening, h("div", { class: "columns" }, h("div", { class: "ask" }, h("div", { class: "boxes" }, userRow, itemRow), chips, status, heads, list), detail)),
		open({ user: name, items: others, item: about }) {
			user.value = name ?? "";
			items = chosen(others);
			shown = about ?? null;
			now();
		}
	};
}
/** The items in an address, which anybody may have written. */
function chosen(text) {
	try {
		const parsed = JSON.parse(text ?? "[]");
		return Array.isArray(parsed) ? parsed.filter((item) => typeof item === "string") : [];
	} catch {
		return [];
	}
}
// src/training.ts
var PAUSE$2 = 700;
function duration(seconds) {
	const whole = Math.round(seconds);
	if (whole < 60) return `${whole} s`;
	if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
	return `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
}
function figures(run) {
	const maybe = (name, value, show) => value === null ? [] : [[name, show(value)]];
	return [
		...maybe("bound per row", run.bound, (bound) => bound.toFixed(4).replace("-", "−")),
		...maybe("held-out error", run.error, (error) => error.toFixed(4)),
		...maybe("held-out nlpd", run.nlpd, (nlpd) => nlpd.toFixed(4)),
		...maybe("learning rate", run.learning_rate, (rate) => rate.toPrecision(3)),
		...maybe("epoch", run.epoch, count),
		["updates per second", count(Math.round(run.updates_per_second))],
		...maybe("memory", run.memory_bytes, (bytes) => bytes < 1e9 ? `${(bytes / 1e6).toFixed(0)} MB` : `${(bytes / 1e9).toFixed(2)} GB`),
		["time", duration(run.seconds)],
		...maybe("time left", run.state === "running" ? run.seconds_left : null, duration)
	];
}
function trainingView() {
	const heading = h("h2", {}, "Training");
	const bar = h("progress", {
		max: "1",
		value: "0",
		"aria-label": "Done"
	});
	const tiles = h("dl", { class: "tiles" });
	const charts = h("div", { class: "charts" });
	const show = (run) => {
		heading.textContent = run.state === "finished" ? "Training is finished" : `Training, ${percent(run.done)} done`;
		document.title = `${run.state === "finished" ? "Finished" : percent(run.done)} – ove`;
		bar.value = run.done;
		tiles.replaceChildren(...figures(run).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
		charts.replaceChildren(...run.charts.map((svg) => h("figure", {}, markup(svg))));
	};
	let last = null;
	const poll = async () => {
		try {
			last = await training();
			show(last);
			if (last.state === "finished") return;
		} catch {
			heading.textContent = last === null ? "The run does not answer" : "The run has ended, or does not answer";
			return;
		}
		setTimeout(() => void poll(), PAUSE$2);
	};
	poll();
	return h("div", { class: "training" }, heading, bar, tiles, charts);
}
// src/try.ts
var TOP$1 = 10;
var PAUSE$1 = 120;
/** Features as in data files: `3:0.5 17:1`. */
function features(text) {
	const pairs = text.split(/[\s,]+/).filter(Boolean).map((pair) => {
		const [, name, value] = /^(.+):(.+)$/.exec(pair) ?? [];
		const number = Number(value);
		if (name === void 0 || value === void 0 || !Number.isFinite(number)) throw new Error(`“${pair}”: a feature and its value are written like 17:0.5`);
		return [name, number];
	});
	return { features: Object.fromEntries(pairs) };
}
/** What the model is called and does, and texts to begin with. */
function opening(model, use) {
	const [one, many] = model.takes_texts ? ["a text", "texts"] : ["the features of a row", "rows"];
	const does = `Finds the most probable of ${count(model.classes)} classes for ${one}, and says why. It learned them from ${count(model.rows)} ${many}.`;
	const example = (text) => h("li", {}, h("button", {
		type: "button",
		class: "link",
		onclick: () => use(text)
	}, text));
	return h("section", { class: "opening" }, h("h2", {}, model.name), h("p", {}, does), model.examples.length > 0 && h("p", { class: "quiet" }, "Three of these, to try:"), model.examples.length > 0 && h("ul", {
		class: "examples",
		"aria-label": "Examples"
	}, ...model.examples.map(example)));
}
function tryView(model, keep, failed) {
	const list = h("ol", {
		class: "classes",
		"aria-label": "Most probable classes"
	});
	const heads = head("Class", "Probability");
	const status = h("p", {
		class: "quiet",
		role: "status"
	});
	const select = (label) => {
		for (const button of list.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset["class"] === label));
	};
	const detail = new Detail(failed, (label) => {
		select(label);
		keep({
			text: box.value.trim(),
			class: label
		}, true);
	});
	const what = model.takes_texts ? "Text" : "Features";
	const box = h("textarea", {
		id: "text",
		rows: "3",
		placeholder: model.takes_texts ? "Type or paste a text" : "Features and their values, such as 3:0.5 17:1",
		spellcheck: "false",
		autocomplete: "off",
		oninput: () => later()
	});
	const row = (found, at) => {
		const label = found.labels[at] ?? "";
		const share = found.probabilities[at] ?? 0;
		return h("li", {}, h("button", {
			type: "button",
			"data-class": label,
			"aria-pressed": String(label === detail.label),
			onclick: () => void detail.show(label, current)
		}, h("span", { class: "name" }, found.names?.[at] ?? label), h("span", {
			class: "track",
			"aria-hidden": "true"
		}, h("span", {
			class: "bar for",
			style: `width:${100 * share}%`
		})), h("span", { class: "number" }, percent(share))));
	};
	let current = null;
	let asked = 0;
	let timer = 0;
	const later = () => {
		clearTimeout(timer);
		timer = setTimeout(() => void now(), PAUSE$1);
	};
	/** Predicts what is in the box; `step` if Back is to return to what was there before. */
	const now = async (step = false) => {
		const ask = ++asked;
		const text = box.value.trim();
		heads.hidden = text === "";
		if (text === "") {
			current = null;
			list.replaceChildren();
			detail.hide();
			status.textContent = "";
			keep({});
			return;
		}
		try {
			const input = model.takes_texts ? { text } : features(text);
			const found = await predict(input, TOP$1);
			if (ask !== asked) return;
			current = input;
			list.replaceChildren(...found.labels.map((_, at) => row(found, at)));
			const words = model.takes_texts ? "words" : "features";
			status.textContent = found.known === 0 ? `The model knows none of these ${words}: the classes below do not depend on them.` : "";
			keep({
				text,
				class: detail.label ?? ""
			}, step);
			detail.again(current);
		} catch (error) {
			if (error instanceof Error && ask === asked) status.textContent = error.message;
			failed(error);
		}
	};
	const use = (text) => {
		box.value = text;
		detail.hide();
		now(true);
	};
	list.addEventListener("keydown", (event) => {
		const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
		const buttons = [...list.querySelectorAll("button")];
		const next = buttons[buttons.indexOf(document.activeElement) + step];
		if (step === 0 || next === void 0) return;
		event.preventDefault();
		next.focus();
	});
	heads.hidden = true;
	return {
		element: h("div", {}, opening(model, use), h("div", { class: "columns" }, h("div", { class: "ask" }, h("label", { for: "text" }, what), box, status, heads, list), detail.element)),
		async open({ text, class: label }) {
			if (text === void 0 && box.value.trim().length > 2e3) return;
			box.value = text ?? "";
			if (label === void 0) detail.hide();
			else detail.label = label;
			await now();
			if (label !== void 0 && current !== null) detail.show(label, current, false);
		}
	};
}
// src/map.ts
var [WIDTH, HEIGHT, MARGIN, LEAST] = [
	560,
	440,
	56,
	300
];
var [LETTER, LINE, GAP] = [
	7.4,
	16,
	9
];
var overlaps = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
/** From the places to points of the drawing, with the same scale along both axes. */
function fitted(places, width) {
	const range = (axis) => [Math.min(...places.map((p) => p[axis])), Math.max(...places.map((p) => p[axis]))];
	const [[left, right], [low, high]] = [range(0), range(1)];
	const scale = Math.min((width - 2 * MARGIN) / Math.max(right - left, 1e-9), (HEIGHT - 2 * MARGIN) / Math.max(high - low, 1e-9));
	return places.map(([x, y]) => [width / 2 + scale * (x - (left + right) / 2), HEIGHT / 2 - scale * (y - (low + high) / 2)]);
}
/** The first `asked` words are those that were asked for; `lines` join pairs of words by their numbers. */
function wordMap(words, places, asked, lines, open) {
	const width = Math.max(LEAST, Math.min(WIDTH, innerWidth - 40));
	const points = fitted(places, width);
	const taken = points.map(([x, y]) => [
		x - 5,
		y - 5,
		x + 5,
		y + 5
	]);
	const named = words.map((word, at) => {
		const [x, y] = points[at];
		const wide = LETTER * word.length;
		const sides = (down) => [[
			"start",
			x + GAP,
			y + down + 4,
			[
				x + GAP,
				y + down - LINE / 2,
				x + GAP + wide,
				y + down + LINE / 2
			]
		], [
			"end",
			x - GAP,
			y + down + 4,
			[
				x - GAP - wide,
				y + down - LINE / 2,
				x - GAP,
				y + down + LINE / 2
			]
		]];
		const inside = Array.from({ length: 13 }, (_, n) => LINE * (n % 2 === 0 ? n / 2 : -(n + 1) / 2)).flatMap(sides).filter(([, , , box]) => box[0] > 2 && box[2] < width - 2 && box[1] > 2 && box[3] < HEIGHT - 2);
		const [anchor, left, top, box] = inside.find(([, , , box]) => !taken.some((other) => overlaps(box, other))) ?? inside[0] ?? sides(0)[0];
		taken.push(box);
		return draw("g", {
			class: at < asked ? "asked" : "found",
			onclick: () => open(word)
		}, draw("circle", {
			cx: x.toFixed(1),
			cy: y.toFixed(1),
			r: 4
		}), draw("text", {
			x: left.toFixed(1),
			y: top.toFixed(1),
			"text-anchor": anchor
		}, word));
	});
	const joined = lines.map(([from, to]) => {
		const [[x1, y1], [x2, y2]] = [points[from], points[to]];
		return draw("line", {
			x1: x1.toFixed(1),
			y1: y1.toFixed(1),
			x2: x2.toFixed(1),
			y2: y2.toFixed(1)
		});
	});
	const name = `A map of ${words.length} words`;
	return draw("svg", {
		class: "map",
		viewBox: `0 0 ${width} ${HEIGHT}`,
		role: "img",
		"aria-label": name
	}, ...joined, ...named);
}
// src/words.ts
var TOP = 20;
var ANSWERS = 5;
var PAUSE = 150;
var NOTE = "Words that are close here are similar; the map keeps what two directions can of the distances between their vectors.";
/** A box for a word, which offers words that start like what is typed. */
function box(id, title, changed, failed) {
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
			offer();
			changed();
		}, PAUSE);
	};
	const field = h("input", {
		id,
		list: words.id,
		autocomplete: "off",
		autocapitalize: "none",
		spellcheck: "false",
		oninput: typed
	});
	return [h("div", {}, h("label", { for: id }, title), field, words), field];
}
/** A list of words, each with its cosine, and their map. */
var Answers = class {
	open;
	list = h("ol", { class: "classes" });
	heads = head("Word", "Cosine");
	status = h("p", {
		class: "quiet",
		role: "status"
	});
	map = h("div");
	constructor(name, open) {
		this.open = open;
		this.list.setAttribute("aria-label", name);
		this.hide("");
	}
	show(asked, found, lines) {
		const row = (word, at) => {
			const score = found.scores[at] ?? 0;
			return h("li", {}, h("button", {
				type: "button",
				onclick: () => this.open(word)
			}, h("span", { class: "name" }, word), h("span", {
				class: "track",
				"aria-hidden": "true"
			}, h("span", {
				class: "bar for",
				style: `width:${100 * Math.max(score, 0)}%`
			})), h("span", { class: "number" }, score.toFixed(3))));
		};
		this.list.replaceChildren(...found.words.map(row));
		this.status.textContent = "";
		this.heads.hidden = this.map.hidden = false;
		this.map.replaceChildren(wordMap([...asked, ...found.words], found.map, asked.length, lines, this.open), h("p", { class: "quiet" }, NOTE));
	}
	hide(why) {
		this.list.replaceChildren();
		this.status.textContent = why;
		this.heads.hidden = this.map.hidden = true;
	}
};
var learned = (found) => found.trained ? ` They were learned from a text of ${count(found.trained.text_words)} words.` : "";
/** A word and its neighbours. */
function neighboursView(vectors, keep, failed) {
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
	const use = (word) => {
		field.value = word;
		now(true);
	};
	const example = (word) => h("li", {}, h("button", {
		type: "button",
		class: "link",
		onclick: () => use(word)
	}, word));
	return {
		element: h("div", {}, h("section", { class: "opening" }, h("h2", {}, vectors.name), h("p", {}, `Vectors of ${count(vectors.words)} words: similar words have similar vectors.${learned(vectors)}`), h("ul", {
			class: "examples inline",
			"aria-label": "Examples"
		}, ...vectors.examples.map(example))), h("div", { class: "columns" }, h("div", { class: "ask" }, row, answers.status, answers.heads, answers.list), answers.map)),
		open({ word }) {
			field.value = word ?? "";
			now();
		}
	};
}
/** a is to b as c is to what? */
function analogiesView(keep, failed) {
	const answers = new Answers("Answers", (word) => location.assign(`#words?${new URLSearchParams({ word })}`));
	const boxes = [
		["a", "This word"],
		["b", "is to this one"],
		["c", "as this one is to …"]
	].map(([id, title]) => box(id, title, () => void now(), failed));
	let asked = 0;
	const now = async () => {
		const ask = ++asked;
		const [a, b, c] = boxes.map(([, field]) => field.value.trim());
		keep({
			a,
			b,
			c
		});
		if (a === "" || b === "" || c === "") return answers.hide("");
		try {
			const found = await analogy([
				a,
				b,
				c
			], ANSWERS);
			if (ask !== asked) return;
			answers.show([
				a,
				b,
				c
			], found, found.words.length > 0 ? [[0, 1], [2, 3]] : [[0, 1]]);
		} catch (error) {
			if (ask === asked) answers.hide(error instanceof Error ? error.message : "");
		}
	};
	return {
		element: h("div", { class: "columns" }, h("div", { class: "ask" }, h("div", { class: "analogy" }, ...boxes.map(([row]) => row)), answers.status, answers.heads, answers.list), answers.map),
		open(given) {
			boxes.forEach(([, field]) => field.value = given[field.id] ?? "");
			now();
		}
	};
}
// src/main.ts
var content = document.querySelector("#content");
var views = document.querySelector("#views");
var summary = document.querySelector("#summary");
function failed(error) {
	if (error instanceof TokenNeeded) askForToken("That token is not the right one.");
	else summary.textContent = error instanceof Error ? error.message : String(error);
}
function askForToken(why) {
	const field = h("input", {
		id: "token",
		autocomplete: "off",
		spellcheck: "false",
		required: true
	});
	const enter = (event) => {
		event.preventDefault();
		keepToken(field.value.trim());
		start();
	};
	views.replaceChildren();
	content.replaceChildren(h("form", {
		class: "token",
		onsubmit: enter
	}, h("p", {}, why), h("label", { for: "token" }, "Token"), field, h("button", {}, "Go on")));
	field.focus();
}
/** One view a tab; each is made when it is first wanted and kept, so that nothing typed is lost. */
function tabs(all) {
	const made = /* @__PURE__ */ new Map();
	const links = all.map(([id, title]) => h("a", { href: `#${id}` }, title));
	const show = async () => {
		const [view, params] = here();
		const at = Math.max(0, all.findIndex(([id]) => id === view));
		const [id, , make] = all[at];
		const link = links[at];
		links.forEach((other) => other === link ? other.setAttribute("aria-current", "page") : other.removeAttribute("aria-current"));
		const keep = (params, step = false) => {
			link.href = address(id, params);
			if (!(link.getAttribute("aria-current") !== null) || link.hash === location.hash || link.hash === `#${id}` && location.hash === "") return;
			history[step ? "pushState" : "replaceState"](null, "", link.hash);
		};
		try {
			if (!made.has(id)) made.set(id, await make(keep));
			const { element, open } = made.get(id);
			content.replaceChildren(element);
			open(params);
		} catch (error) {
			failed(error);
		}
	};
	views.replaceChildren(...links);
	window.onhashchange = () => void show();
	show();
}
async function start() {
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
		document.querySelector("footer").replaceChildren("For programs, over HTTP: ", description, ".");
		if (serves === "recommender") {
			const found = await recommender();
			document.title = `${found.name} · ove`;
			summary.textContent = `${count(found.users)} users · ${count(found.items)} items · ${count(found.interactions)} interactions`;
			tabs([[
				"recommend",
				"Recommendations",
				(keep) => recommendView(found, keep, failed)
			]]);
			return;
		}
		if (serves === "words") {
			const found = await vectors();
			document.title = `${found.name} · ove`;
			summary.textContent = `${count(found.words)} words · ${count(found.rank)} numbers each`;
			tabs([[
				"words",
				"Neighbours",
				(keep) => neighboursView(found, keep, failed)
			], [
				"analogies",
				"Analogies",
				(keep) => analogiesView(keep, failed)
			]]);
			return;
		}
		const found = await model();
		document.title = `${found.name} · ove`;
		summary.textContent = `${count(found.classes)} classes · ${count(found.features)} ${found.takes_texts ? "words" : "features"} · ${count(found.rows)} training rows`;
		tabs([
			[
				"try",
				"Try it",
				(keep) => tryView(found, keep, failed)
			],
			[
				"classes",
				"Classes",
				(keep) => classesView(keep, failed)
			],
			[
				"model",
				"The model",
				async () => ({
					element: h("article", { class: "card" }, markup(await card())),
					open: () => {}
				})
			]
		]);
	} catch (error) {
		failed(error);
	}
}
start();
