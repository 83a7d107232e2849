// Text and vectors for the measures of speed: words as frequent as in real text, and vectors in which texts with the
// same words are near.
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"

/** The same numbers in every run. */
export function randomNumbers(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

const vocabulary = 30_000

function word(rank) {
  let text = ""
  for (let rest = rank + 40; rest > 0; rest = Math.floor(rest / 40)) {
    text += "bcdfghklmnprstvz"[rest % 16] + "aeiou"[Math.floor(rest / 16) % 5]
  }
  return text
}

/** As Zipf found it: the second most frequent half as often as the first, the third a third as often. */
function randomWord(random) {
  return word(Math.floor(vocabulary ** random()) - 1)
}

/** One that is asked for: not of the hundred that stand in every text. */
function tellingWord(random) {
  return word(Math.floor(100 * (vocabulary / 100) ** random()))
}

const topics = 2_000

/** Some words of one topic: texts are about something, and so are questions. */
export function topicWords(random, count) {
  const own = randomNumbers(1_000 + Math.floor(random() * topics))
  const words = Array.from({ length: 25 }, () => tellingWord(own))
  return Array.from({ length: count }, () => words[Math.floor(random() * words.length)])
}

export function paragraph(random) {
  const about = topicWords(random, 40)
  let text = ""
  while (text.length < 600) {
    const length = 6 + Math.floor(random() * 12)
    const words = Array.from(
      { length },
      () => (random() < 0.3 ? about.pop() : undefined) ?? randomWord(random),
    ).join(" ")
    text += `${words[0].toUpperCase()}${words.slice(1)}. `
  }
  return text
}

/** Files with a number of paragraphs, each about a chunk. */
export function writeFiles(folder, from, to, paragraphs) {
  const random = randomNumbers(from + 1)
  mkdirSync(folder, { recursive: true })
  for (let i = from; i < to; i++) {
    const text = Array.from({ length: paragraphs }, () => paragraph(random)).join("\n\n")
    writeFileSync(join(folder, `${i}.txt`), text)
  }
}

/** One file of a number of megabytes; the text repeats with other numbers in it. */
export function writeLargeFile(path, megabytes) {
  const random = randomNumbers(7)
  const block = Array.from({ length: 1_500 }, () => paragraph(random)).join("\n\n")
  const file = openSync(path, "w")
  let written = 0
  for (let i = 0; written < megabytes * 1_048_576; i++)
    written += writeSync(file, `Part ${i}.\n\n${block}\n\n`)
  closeSync(file)
  return written
}

const dimensions = 512
/** A word's direction is a stretch of these numbers. */
const noise = Float32Array.from({ length: 65_536 + dimensions }, centred(randomNumbers(11)))
/** Frequent words mean less, as they do to a model. */
const weights = new Map(
  Array.from({ length: vocabulary }, (_, rank) => [word(rank), Math.log(rank + 2) / 10]),
)

function centred(random) {
  return () => random() + random() + random() - 1.5
}

function offsetOf(text) {
  let hash = 17
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash, 31) + text.charCodeAt(i)
  return (Math.imul(hash, 0x9e3779b1) >>> 0) % 65_536
}

/** Each word adds its own direction: no model, but vectors of the size of a model's. Knows how long it has taken. */
export const wordEmbeddings = {
  name: "bench/words",
  dimensions,
  spentMs: 0,
  async embed(texts) {
    const start = performance.now()
    const vectors = texts.map(vectorOf)
    this.spentMs += performance.now() - start
    return vectors
  },
}

export function vectorOf(text) {
  const vector = new Float32Array(dimensions)
  for (const one of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    const [offset, weight] = [offsetOf(one), weights.get(one) ?? 1]
    for (let i = 0; i < dimensions; i++) vector[i] += weight * noise[offset + i]
  }
  return vector
}
