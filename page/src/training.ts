// The page of a training run: figures and curves, polled until the run ends.

import { count, h, markup, percent } from "./element";
import { training } from "./server";

interface Run {
  state: "running" | "finished";
  done: number;
  seconds: number;
  seconds_left: number | null;
  epoch: number | null;
  updates: number;
  updates_per_second: number;
  bound: number | null;
  learning_rate: number | null;
  error: number | null;
  nlpd: number | null;
  memory_bytes: number | null;
  charts: string[];
}

const PAUSE = 700;

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

function figures(run: Run): [string, string][] {
  const maybe = (name: string, value: number | null, show: (value: number) => string): [string, string][] =>
    value === null ? [] : [[name, show(value)]];
  return [
    ...maybe("bound per row", run.bound, (bound) => bound.toFixed(4).replace("-", "−")),
    ...maybe("held-out error", run.error, (error) => error.toFixed(4)),
    ...maybe("held-out nlpd", run.nlpd, (nlpd) => nlpd.toFixed(4)),
    ...maybe("learning rate", run.learning_rate, (rate) => rate.toPrecision(3)),
    ...maybe("epoch", run.epoch, count),
    ["updates per second", count(Math.round(run.updates_per_second))],
    ...maybe("memory", run.memory_bytes, (bytes) => (bytes < 1e9 ? `${(bytes / 1e6).toFixed(0)} MB` : `${(bytes / 1e9).toFixed(2)} GB`)),
    ["time", duration(run.seconds)],
    ...maybe("time left", run.state === "running" ? run.seconds_left : null, duration),
  ];
}

export function trainingView(): HTMLElement {
  const heading = h("h2", {}, "Training");
  const bar = h("progress", { max: "1", value: "0", "aria-label": "Done" });
  const tiles = h("dl", { class: "tiles" });
  const charts = h("div", { class: "charts" });
  const show = (run: Run) => {
    heading.textContent = run.state === "finished" ? "Training is finished" : `Training, ${percent(run.done)} done`;
    document.title = `${run.state === "finished" ? "Finished" : percent(run.done)} – ove`;
    bar.value = run.done;
    tiles.replaceChildren(...figures(run).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    charts.replaceChildren(...run.charts.map((svg) => h("figure", {}, markup(svg))));
  };
  let last: Run | null = null;
  const poll = async () => {
    try {
      last = await training<Run>();
      show(last);
      if (last.state === "finished") return;
    } catch {
      heading.textContent = last === null ? "The run does not answer" : "The run has ended, or does not answer";
      return;
    }
    setTimeout(() => void poll(), PAUSE);
  };
  void poll();
  return h("div", { class: "training" }, heading, bar, tiles, charts);
}
