// What the server says, in its own words.

export interface Health {
  serves: "model" | "training" | "words" | "recommender";
  token: boolean;
}

export interface Model {
  name: string;
  examples: string[];
  classes: number;
  features: number;
  rows: number;
  takes_texts: boolean;
}

export interface Prediction {
  labels: string[];
  names?: string[];
  probabilities: number[];
  /** How many of the row's features the model knows. */
  known: number;
}

export interface Class {
  class: string;
  name?: string;
  count: number;
}

export interface Word {
  feature: string;
  index: number;
}

export interface Sides<W> {
  for: W[];
  against: W[];
}

export interface Explanation extends Class {
  rows: number;
  general: Sides<Word & { weight: number }>;
  rivals: Class[];
  row?: Sides<Word & { product: number }>;
}

/** Word vectors, with what is known of their training. */
export interface Vectors {
  name: string;
  words: number;
  rank: number;
  examples: string[];
  trained: { text_words: number } | null;
}

/** Words by their cosines, and the places of those that were asked for and then of these. */
export interface Found {
  words: string[];
  scores: number[];
  map: [number, number][];
}

/** A recommender. */
export interface Recommender {
  name: string;
  users: number;
  items: number;
  interactions: number;
  examples: string[];
}

export interface Item {
  item: string;
  name?: string;
}

export interface Scored extends Item {
  score: number;
}

export interface Recommended extends Scored {
  because: Scored[];
}

/** What a model is asked about: a text, or features with their values. */
export type Input = { text: string } | { features: Record<string, number> };

/** The server asks for a token, or for another one. */
export class TokenNeeded extends Error {}

const KEY = "ove-token";

export const keepToken = (token: string): void => sessionStorage.setItem(KEY, token);
export const hasToken = (): boolean => sessionStorage.getItem(KEY) !== null;

async function ask(path: string, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = {};
  const token = sessionStorage.getItem(KEY);
  if (token !== null) headers["authorization"] = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const request = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(path, request);
  if (response.status === 401) {
    sessionStorage.removeItem(KEY);
    throw new TokenNeeded();
  }
  if (!response.ok) {
    const { error } = (await response.json().catch(() => ({}))) as { error?: string };
    throw new Error(error ?? `the server answered ${response.status}`);
  }
  return response;
}

const get = async <T>(path: string): Promise<T> => (await ask(path)).json() as Promise<T>;

export const health = (): Promise<Health> => get("health");
export const model = (): Promise<Model> => get("model");
export const card = async (): Promise<string> => (await ask("card")).text();
export const training = <T>(): Promise<T> => get("training");

export const classes = (part: string): Promise<{ classes: Class[]; total: number }> =>
  get(`classes?limit=30&search=${encodeURIComponent(part)}`);

export const vectors = (): Promise<Vectors> => get("model");

/** Words that start like this. */
export const starting = async (prefix: string): Promise<string[]> =>
  (await get<{ words: string[] }>(`words?limit=8&prefix=${encodeURIComponent(prefix)}`)).words;

export const similar = (word: string, top: number): Promise<Found> => get(`similar?${new URLSearchParams({ word, top: String(top) })}`);

export const analogy = ([a, b, c]: [string, string, string], top: number): Promise<Found> =>
  get(`analogy?${new URLSearchParams({ a, b, c, top: String(top) })}`);

export const recommender = (): Promise<Recommender> => get("model");

/** Users whose name has this in it, each with what to say of them. */
export const usersWith = async (part: string): Promise<[string, string][]> =>
  (await get<{ users: { user: string; count: number }[] }>(`users?limit=8&search=${encodeURIComponent(part)}`)).users.map(({ user, count }) => [user, `${count} items`]);

/** Items whose name has this in it, each with what to say of it. */
export const itemsWith = async (part: string): Promise<[string, string | undefined][]> =>
  (await get<{ items: Item[] }>(`items?limit=8&search=${encodeURIComponent(part)}`)).items.map(({ item, name }) => [item, name]);

export const recommend = async (whom: { user: string } | { items: string[] }, top: number): Promise<{ items: Recommended[]; has: Item[] }> =>
  (await ask("recommend", { ...whom, top })).json() as Promise<{ items: Recommended[]; has: Item[] }>;

export const similarItems = (item: string, top: number): Promise<Item & { count: number; similar: Scored[] }> =>
  get(`similar?${new URLSearchParams({ item, top: String(top) })}`);

export async function predict(input: Input, top: number): Promise<Prediction> {
  const answer = (await (await ask("predict", { ...input, top })).json()) as { predictions: Prediction[] };
  return answer.predictions[0] ?? { labels: [], probabilities: [], known: 0 };
}

export const explain = async (label: string, input: Input | null): Promise<Explanation> =>
  (await ask("explain", { class: label, ...input, top: 8 })).json() as Promise<Explanation>;
