"""Texts to the rows that the ONNX model beside this file takes, term by term as `ove` makes them.

    session, tokenizer = onnxruntime.InferenceSession("my.onnx"), Tokenizer("my.json")
    classes, probabilities = session.run(["classes", "probabilities"], tokenizer.rows(["a text"]))

Needs NumPy; also xxhash for hashed features, and snowballstemmer for stems.
"""
import json, math, re, sys, unicodedata
from collections import Counter
import numpy as np

MARKS = "".join(c for c in map(chr, range(0x300, sys.maxunicode)) if unicodedata.category(c)[0] == "M")
WORD = re.compile(rf"\w[\w{MARKS}]+")  # at least two letters, digits, underscores and marks; no mark comes first

class Tokenizer:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = json.load(file)["text"]
        self.options, self.idf = text["options"], text["idf"]
        self.features = {term: n for n, term in enumerate(text["vocabulary"])}
        self.kinds = {self.kind(term) for term in self.features} if self.options["apart"] else {""}
        if self.options["stem"]:
            import snowballstemmer
            self.stem = snowballstemmer.stemmer(self.options["stem"]).stemWord

    def kind(self, term):
        if len(term) > 1 and term[0] == term[-1] == '"':
            return "chars"
        return "stems" if term.endswith("*") else "ngrams" if " " in term else "words"

    def terms(self, text):
        options, text = self.options, text if self.options["tokens"] else text.lower()
        words = (text.split() if options["tokens"] else WORD.findall(text)) if options["ngrams"] else []
        stems = [self.stem(word) or word for word in words] if options["stem"] else []
        words, beside = (words, stems) if options["apart"] else (stems or words, [])
        for n in range(1, options["ngrams"] + 1):
            yield from (" ".join(words[at : at + n]) for at in range(len(words) - n + 1))
        yield from (f"{stem}*" for stem in beside)
        shortest, longest = options["chars"] or (1, -1)
        for word in (f" {word} " for word in text.split()):
            for n in range(min(shortest, len(word)), min(longest, len(word)) + 1):
                yield from (f'"{word[at : at + n]}"' for at in range(len(word) - n + 1))

    def feature(self, term):
        if not self.options["hash"]:
            return self.features.get(term)
        from xxhash import xxh3_64_intdigest as xxh3
        if self.kind(term) != "chars":
            return self.options["hash"] * xxh3(term.encode()) >> 64
        high, low = divmod(xxh3(term[1:-1].encode()), 1 << 32)
        return self.options["hash"] * (low << 32 | high) >> 64

    def rows(self, texts):
        indices, values, offsets = [], [], [0]
        for text in texts:
            found = [(self.feature(term), self.kind(term) if self.options["apart"] else "") for term in self.terms(text)]
            counts, squares = Counter(pair for pair in found if pair[0] is not None), Counter()
            for feature, kind in sorted(counts):
                count = counts[feature, kind]
                value = (1 + math.log(count) if self.options["sublinear_tf"] else count) * (self.idf or {feature: 1})[feature]
                squares[kind] += value**2
                indices.append(feature), values.append((value, kind))
            values[offsets[-1] :] = [v / math.sqrt(squares[kind] * len(self.kinds)) for v, kind in values[offsets[-1] :]]
            offsets.append(len(indices))
        lists = {"indices": indices, "values": values, "offsets": offsets}
        return {name: np.array(list, dtype="f4" if name == "values" else "i8") for name, list in lists.items()}
