// The page in headless Chromium, as somebody uses it: a model to try, on a desk and on a phone, in light and dark, by mouse and by keyboard;
// and a run to watch while it lasts.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";

const root = resolve(import.meta.dirname, "../..");
const require = createRequire(join(root, "page/package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const ove = process.env.OVE ?? join(root, "target/debug/ove");
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const skip = executablePath === undefined && "no Chromium here";
const flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
const DESK = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 844 };

const folder = mkdtempSync(join(tmpdir(), "ove-page-"));
const model = join(folder, "titles.model");
const processes = [];
let browser;

/** Starts `ove` and waits for the address that it names. */
function start(...words) {
  const process = spawn(ove, words, { stdio: ["ignore", "ignore", "pipe"] });
  processes.push(process);
  return new Promise((found, failed) => {
    let said = "";
    process.stderr.on("data", (chunk) => {
      said += chunk;
      const url = /http:\/\/\S+(?=\n)/.exec(said);
      if (url) found(url[0]);
    });
    process.on("exit", () => failed(new Error(said)));
  });
}

/** A page on which nothing may go wrong: no complaint on the console, and no request to anybody but the server. */
async function open(url, { viewport = DESK, colorScheme = "light" } = {}) {
  const page = await browser.newPage({ viewport, colorScheme, reducedMotion: "reduce" });
  page.complaints = [];
  page.on("console", (message) => page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("request", (request) => request.url().startsWith(url) || request.url().startsWith("data:") || page.complaints.push(request.url()));
  await page.goto(url);
  return page;
}

/** What axe-core finds serious, and whether the page scrolls sideways. */
async function check(page) {
  // Through the debugger rather than as a script of the page, which its policy forbids.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), []);
  const [wide, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= shown, `${wide} pixels wide on a screen of ${shown}`);
}

async function close(page) {
  assert.deepEqual(page.complaints, []);
  await page.close();
}

before(async () => {
  if (skip) return;
  const titles = join(root, "tests/page/titles.tsv");
  execFileSync(ove, ["train", titles, "-o", model, "--valid", titles, "--epochs", "40", "--seed", "1"], { stdio: "ignore" });
  browser = await chromium.launch({ executablePath, args: flags });
});

after(async () => {
  await browser?.close();
  for (const process of processes) process.kill();
  rmSync(folder, { recursive: true, force: true });
});

for (const [device, viewport] of [["desk", DESK], ["phone", PHONE]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`a title, its subject and the words: ${device}, ${colorScheme}`, { skip }, async () => {
      const url = await start("serve", model, "--listen", "127.0.0.1:0");
      const page = await open(url, { viewport, colorScheme });
      await page.getByLabel("Text").fill("The flight of owls over the northern lake");
      const best = page.getByRole("list", { name: "Most probable classes" }).getByRole("button");
      await best.first().waitFor();
      const names = await best.locator(".name").allTextContents();
      assert.ok(names.slice(0, 5).includes("birds"), names.join());
      const shares = (await best.locator(".number").allTextContents()).map(parseFloat);
      assert.deepEqual(shares, shares.toSorted((a, b) => b - a));
      assert.equal(await page.locator(".ask .head").textContent(), "ClassProbability");

      await best.filter({ hasText: "birds" }).click();
      const detail = page.getByRole("complementary", { name: "About the class" });
      await detail.getByRole("heading", { name: "birds" }).waitFor();
      assert.match(await detail.textContent(), /10 of 100 training rows/);
      const section = (name) => detail.locator("section").filter({ has: page.getByRole("heading", { name }) });
      assert.ok((await section("In this text").locator(".word").allTextContents()).includes("flight"));
      assert.ok((await section("In general").locator(".word").allTextContents()).includes("birds"));
      assert.equal(await section("Nearest rivals").getByRole("button").count(), 5);
      assert.ok(await detail.locator("mark.for").count() > 0);
      await check(page);
      if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `try-${device}-${colorScheme}.png`), fullPage: true });

      // The next words change what is said of the class that is open.
      await page.getByLabel("Text").fill("Recipes for bread");
      await page.waitForFunction(() => document.querySelector(".detail")?.textContent.includes("No word here speaks") || [...document.querySelectorAll(".detail section:first-of-type .word")].some((word) => word.textContent === "recipes"));
      await section("Nearest rivals").getByRole("button").first().click();
      await page.waitForFunction(() => document.querySelector(".detail h2")?.textContent !== "birds");

      await page.getByRole("link", { name: "The model" }).click();
      await page.getByRole("heading", { name: "Held-out rows" }).waitFor();
      const charts = page.locator("svg.chart");
      const titles = await charts.locator("> title").allTextContents();
      assert.deepEqual(titles, ["Bound", "Error on held-out rows", "nlpd on held-out rows", "Reliability"]);
      for (const chart of await charts.all()) assert.ok((await chart.locator(".stroke, .fill, .open, .bar").count()) > 0, "nothing is drawn");
      await check(page);
      if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `model-${device}-${colorScheme}.png`), fullPage: true });

      await page.getByRole("link", { name: "Classes" }).click();
      await page.getByLabel("Class", { exact: true }).fill("ORESTR");
      await page.getByText("1 found").waitFor();
      await page.getByRole("button", { name: "forestry" }).click();
      await page.getByRole("heading", { name: "forestry" }).waitFor();
      await check(page);

      // What was typed is still there.
      await page.getByRole("link", { name: "Try it" }).click();
      assert.equal(await page.getByLabel("Text").inputValue(), "Recipes for bread");
      await close(page);
    });
  }
}

test("it opens with its name, what it does and texts to try", { skip }, async () => {
  const url = await start("serve", model, "--listen", "127.0.0.1:0");
  const page = await open(url);
  await page.getByRole("heading", { name: "titles" }).waitFor();
  await page.getByText("Finds the most probable of 10 classes for a text, and says why. It learned them from 100 texts.").waitFor();
  const examples = page.getByRole("list", { name: "Examples" }).getByRole("button");
  assert.equal(await examples.count(), 3);
  const text = await examples.first().textContent();
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "opening.png"), fullPage: true });
  await examples.first().click();
  await page.locator(".classes button").first().waitFor();
  assert.equal(await page.getByLabel("Text").inputValue(), text);
  // The description of what programs may ask.
  const description = await page.evaluate(async () => (await fetch(document.querySelector("footer a").href)).json());
  assert.equal(description.paths["/predict"].post.operationId, "predict");
  assert.equal(description.paths["/predict"].post.requestBody.content["application/json"].examples.one.value.text, text);
  // Back to where nothing was typed.
  await page.goBack();
  await page.waitForFunction(() => document.querySelector("#text").value === "" && document.querySelectorAll(".classes button").length === 0);
  await close(page);
});

test("text and class are in the address, which can be shared", { skip }, async () => {
  const url = await start("serve", model, "--listen", "127.0.0.1:0");
  const page = await open(url);
  await page.getByLabel("Text").fill("The flight of owls & 100% larks #1");
  await page.locator(".classes button").filter({ hasText: "birds" }).click();
  await page.getByRole("heading", { name: "birds" }).waitFor();
  const link = page.url();
  assert.match(link, /#try\?text=The\+flight.*&class=birds$/);
  await page.goBack();
  await page.locator(".detail").waitFor({ state: "hidden" });
  assert.equal(await page.getByLabel("Text").inputValue(), "The flight of owls & 100% larks #1");
  await page.goForward();
  await page.getByRole("heading", { name: "birds" }).waitFor();
  await close(page);

  const other = await open(url);
  await other.goto(link);
  await other.reload();
  await other.getByRole("heading", { name: "birds" }).waitFor();
  assert.equal(await other.getByLabel("Text").inputValue(), "The flight of owls & 100% larks #1");
  await other.goto(`${url}/#classes?search=usi`);
  await other.getByText("1 found").waitFor();
  assert.deepEqual(await other.locator(".classes .name").allTextContents(), ["music"]);
  await close(other);
});

test("a text without a known word says so", { skip }, async () => {
  const url = await start("serve", model, "--listen", "127.0.0.1:0");
  const page = await open(url);
  await page.getByLabel("Text").fill("Qwxyz");
  await page.getByText("The model knows none of these words").waitFor();
  await page.getByLabel("Text").fill("Qwxyz flight");
  await page.waitForFunction(() => document.querySelector(".ask [role=status]").textContent === "");
  await close(page);
});

test("long labels wrap on a phone", { skip }, async () => {
  const rows = join(folder, "long.tsv");
  const label = (n) => `${"Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft".repeat(2)}-${n}`;
  writeFileSync(rows, Array.from({ length: 60 }, (_, n) => `word${n % 3} shared\t${label(n % 3)}`).join("\n") + "\n");
  const long = join(folder, "a-model-with-a-name-that-is-longer-than-a-phone-is-wide-and-has-no-space.model");
  execFileSync(ove, ["train", rows, "-o", long, "--valid", rows, "--epochs", "20"], { stdio: "ignore" });
  const url = await start("serve", long, "--listen", "127.0.0.1:0");
  const page = await open(url, { viewport: PHONE });
  await page.getByLabel("Text").fill("word1");
  await page.locator(".classes button").first().click();
  await page.locator(".detail .rivals button").first().waitFor();
  await check(page);
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "long-labels.png"), fullPage: true });
  for (const tab of ["Classes", "The model"]) {
    await page.getByRole("link", { name: tab }).click();
    await page.waitForTimeout(300);
    await check(page);
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `long-${tab.replace(" ", "-")}.png`), fullPage: true });
  }
  await close(page);
});

test("by keyboard alone", { skip }, async () => {
  const url = await start("serve", model, "--listen", "127.0.0.1:0");
  const page = await open(url);
  await page.getByLabel("Text").waitFor();
  for (let presses = 0; presses < 10 && (await page.evaluate(() => document.activeElement?.id)) !== "text"; presses++) await page.keyboard.press("Tab");
  await page.keyboard.type("songs for the choir");
  await page.locator(".classes button").first().waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  const chosen = await page.evaluate(() => document.activeElement?.querySelector(".name")?.textContent);
  assert.equal(chosen, "music");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.textContent === "music" && document.activeElement.tagName === "H2");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector(".detail h2")?.textContent !== "music");
  await close(page);
});

test("a token is asked for", { skip }, async () => {
  const token = join(folder, "token");
  writeFileSync(token, "correct-horse");
  const url = await start("serve", model, "--listen", "127.0.0.1:0", "--token-file", token);
  const page = await open(url);
  await page.getByLabel("Token").fill("wrong-horse");
  await page.keyboard.press("Enter");
  await page.getByText("That token is not the right one").waitFor();
  await check(page);
  page.complaints = page.complaints.filter((text) => !text.includes("401"));
  await page.getByLabel("Token").fill("correct-horse");
  await page.keyboard.press("Enter");
  await page.getByLabel("Text").fill("stars");
  await page.locator(".classes button").first().waitFor();
  await close(page);
});

test("a text is only ever text", { skip }, async () => {
  const url = await start("serve", model, "--listen", "127.0.0.1:0");
  const page = await open(url);
  await page.getByLabel("Text").fill('<img src=x onerror="console.log(1)"> birds <b>ships</b>');
  await page.locator(".classes button").first().click();
  await page.locator(".shaded").waitFor();
  assert.equal(await page.locator(".shaded img, .shaded b").count(), 0);
  assert.match(await page.locator(".shaded").textContent(), /<img src=x/);
  await close(page);
});

/** Vectors of cities and rivers of three countries: a direction for the country, and one for what it is. */
function vectors() {
  const countries = [[3, 0, 0], [0, 3, 0], [0, 0, 3]];
  const things = { city: [1, 0], river: [0, 1], capital: [0.9, 0.2] };
  const rows = countries.flatMap((country, n) => Object.entries(things).map(([name, thing]) => `${name}${n} ${[...country, ...thing].join(" ")}`));
  const file = join(folder, "countries.txt");
  writeFileSync(file, [...rows, "<b>word</b> 1 1 1 1 1"].join("\n") + "\n");
  return file;
}

for (const [device, viewport, colorScheme] of [["desk", DESK, "light"], ["phone", PHONE, "dark"]]) {
  test(`word vectors, their neighbours and a map: ${device}, ${colorScheme}`, { skip }, async () => {
    const url = await start("serve", vectors(), "--listen", "127.0.0.1:0");
    const page = await open(url, { viewport, colorScheme });
    await page.getByText("Vectors of 10 words: similar words have similar vectors.").waitFor();
    await page.getByRole("list", { name: "Examples" }).getByRole("button").first().click();
    const neighbours = page.getByRole("list", { name: "Neighbours" }).getByRole("button");
    await neighbours.first().waitFor();
    assert.equal(await page.getByLabel("Word", { exact: true }).inputValue(), "city0");
    assert.deepEqual(await neighbours.locator(".name").evaluateAll((names) => names.slice(0, 2).map((name) => name.textContent)), ["capital0", "river0"]);
    assert.equal(await neighbours.count(), 9);
    // All words are on the map, the nearest nearer than others.
    const map = page.getByRole("img", { name: "A map of 10 words" });
    const places = Object.fromEntries(await map.locator("g").evaluateAll((all) => all.map((g) => [g.textContent, [Number(g.firstChild.getAttribute("cx")), Number(g.firstChild.getAttribute("cy"))]])));
    const distance = (a, b) => Math.hypot(places[a][0] - places[b][0], places[a][1] - places[b][1]);
    assert.equal(Object.keys(places).length, 10);
    for (const other of ["city1", "city2", "river1"]) assert.ok(distance("city0", "capital0") < distance("city0", other), JSON.stringify(places));
    // What a word is called is only ever text.
    assert.equal(await page.locator("#content b").count(), 0);
    await check(page);
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `words-${device}-${colorScheme}.png`), fullPage: true });

    await page.getByLabel("Word", { exact: true }).fill("nobody");
    await page.getByText("`nobody` is not one of the 10 words").waitFor();
    assert.equal(await map.count(), 0);
    page.complaints = page.complaints.filter((text) => !text.includes("404"));
    await page.goBack();
    await page.goto(`${url}/#words?word=river2`);
    await neighbours.first().waitFor();
    await page.waitForFunction(() => document.querySelector(".map .asked text")?.textContent === "river2");
    await neighbours.filter({ hasText: "city2" }).click();
    await page.waitForFunction(() => document.querySelector(".map .asked text")?.textContent === "city2");
    assert.match(page.url(), /#words\?word=city2$/);
    await page.goBack();
    await page.waitForFunction(() => document.querySelector(".map .asked text")?.textContent === "river2");

    await page.getByRole("link", { name: "Analogies" }).click();
    await page.getByLabel("This word").fill("city0");
    await page.getByLabel("is to this one", { exact: true }).fill("river0");
    await page.getByLabel("as this one is to …").fill("city2");
    const answers = page.getByRole("list", { name: "Answers" }).getByRole("button");
    await answers.first().waitFor();
    assert.equal(await answers.first().locator(".name").textContent(), "river2");
    assert.equal(await page.locator(".map line").count(), 2);
    await check(page);
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `analogies-${device}-${colorScheme}.png`), fullPage: true });
    await answers.first().click();
    await page.waitForFunction(() => document.querySelector(".map .asked text")?.textContent === "river2");
    const description = await page.evaluate(async () => (await fetch(document.querySelector("footer a").href)).json());
    assert.equal(description.paths["/similar"].get.operationId, "similar");
    await close(page);
  });
}

/** Readers of one of three kinds of books, and the names of these. */
function readers() {
  const [visits, names, recommender] = ["visits.txt", "books.tsv", "books"].map((name) => join(folder, name));
  const kinds = ["crime", "travel", "<b>poems</b>"];
  const line = (user) => [`reader${user}`, ...[0, 1, 2, 3, 4].map((n) => `book${user % 3 + 3 * ((user + n * n) % 8)}`)].join(" ");
  writeFileSync(visits, Array.from({ length: 90 }, (_, user) => line(user)).join("\n") + "\n");
  writeFileSync(names, Array.from({ length: 24 }, (_, n) => `book${n}\t${kinds[n % 3]} ${n}`).join("\n") + "\n");
  execFileSync(ove, ["train", visits, "--format", "interactions", "-o", recommender, "--rank", "4", "--epochs", "40", "--batch", "16", "--temperature", "0.5"], { stdio: "ignore" });
  return [recommender, "--names", names];
}

for (const [device, viewport, colorScheme] of [["desk", DESK, "light"], ["phone", PHONE, "dark"]]) {
  test(`recommendations, why, and similar items: ${device}, ${colorScheme}`, { skip }, async () => {
    const url = await start("serve", ...readers(), "--listen", "127.0.0.1:0");
    const page = await open(url, { viewport, colorScheme });
    await page.getByText("Recommends 24 items, to 90 users").waitFor();
    const list = page.getByRole("list", { name: "Recommendations" }).getByRole("button");
    await page.getByLabel("User", { exact: true }).fill("reader7");
    await page.getByLabel("User", { exact: true }).press("Enter");
    await list.first().waitFor();
    const top = await list.locator(".name").allTextContents();
    assert.equal(top.length, 10);
    assert.ok(top.slice(0, 2).every((name) => name.startsWith("travel")), top.join());
    assert.match(await list.first().locator(".why").textContent(), /^because of travel/);
    await page.getByText(/^Has travel/).waitFor();
    // What an item is called is only ever text.
    assert.equal(await page.locator("#content b").count(), 0);

    await list.first().click();
    const detail = page.getByRole("complementary", { name: "About the item" });
    await detail.getByRole("heading", { name: top[0] }).waitFor();
    const section = (name) => detail.locator("section").filter({ has: page.getByRole("heading", { name }) });
    assert.match((await section("Because of").locator(".word").allTextContents())[0], /^travel/);
    assert.match((await section("Similar items").getByRole("button").allTextContents())[0], /^travel/);
    await check(page);
    if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `recommend-${device}-${colorScheme}.png`), fullPage: true });

    // For somebody new: an item, and another one.
    await page.getByLabel("Or items, for somebody new").fill("book3");
    await page.getByLabel("Or items, for somebody new").press("Enter");
    const chips = page.getByRole("list", { name: "Chosen items" }).getByRole("button");
    await chips.first().waitFor();
    await page.waitForFunction(() => document.querySelector(".classes .name")?.textContent.startsWith("crime"));
    assert.equal(await page.getByLabel("User", { exact: true }).inputValue(), "");
    await page.getByLabel("Or items, for somebody new").fill("nothing");
    await page.getByLabel("Or items, for somebody new").press("Enter");
    await page.getByText("item: the model has no `nothing`").waitFor();
    page.complaints = page.complaints.filter((text) => !text.includes("404"));
    await check(page);
    await chips.filter({ hasText: "nothing" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".classes li").length === 10);
    assert.equal(await chips.count(), 1);
    // Back leads to what was there before, and an address to the same.
    await page.goBack();
    await page.getByText("item: the model has no `nothing`").waitFor();
    page.complaints = page.complaints.filter((text) => !text.includes("404"));
    await page.goto(`${url}/#recommend?user=reader7`);
    await page.getByText(/^Has travel/).waitFor();
    await close(page);
  });
}

test("a run moves while it lasts, and says when it ends", { skip }, async () => {
  const rows = join(folder, "rows.svm");
  const random = (n) => (Math.imul(n ^ (n >>> 15), 0x2c1b3c6d) >>> 8) % 500;
  const line = (n) => {
    const features = [...new Set(Array.from({ length: 12 }, (_, i) => random(n * 31 + i * 7919)))].sort((a, b) => a - b);
    return `${features[0] % 40} ${features.map((d) => `${d}:1`).join(" ")}`;
  };
  writeFileSync(rows, Array.from({ length: 20_000 }, (_, n) => line(n)).join("\n") + "\n");
  const url = await start("train", rows, "-o", join(folder, "rows.model"), "--valid", rows, "--epochs", "200", "--learning-rate", "0.05", "--watch");
  const page = await open(url);
  await page.getByRole("heading", { name: /Training, .*% done/ }).waitFor();
  const done = () => page.locator("progress").evaluate((bar) => bar.value);
  const first = await done();
  await page.waitForFunction((first) => document.querySelector("progress").value > first + 0.02, first);
  await page.waitForFunction(() => document.querySelectorAll("svg.chart").length === 3);
  const curve = () => page.locator("svg.chart").first().locator(".stroke").first().evaluate((line) => line.outerHTML);
  const early = await curve();
  const figures = await page.locator(".tiles dt").allTextContents();
  for (const name of ["bound per row", "held-out error", "held-out nlpd", "learning rate", "updates per second", "memory", "time left"]) assert.ok(figures.includes(name), `${name} not in ${figures}`);
  await check(page);
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, "training.png"), fullPage: true });
  await page.getByRole("heading", { name: "Training is finished" }).waitFor({ timeout: 60_000 });
  assert.equal(await done(), 1);
  assert.notEqual(await curve(), early);
  await close(page);
});
