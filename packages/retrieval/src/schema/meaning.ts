/**
 * Measures how near a question is to tables and texts in meaning. The numbers of models are not comparable, so each model
 * is calibrated with everyday topics and words: 0 is the similarity of unrelated texts, 1 that of related ones. Vectors
 * are cached by the digest of their text, also on disk if there is a folder for them.
 */
import { join } from "node:path"
import { digestOf, readCache, writeCache } from "../cache-file.ts"
import { fatal } from "../errors.ts"
import { type Embeddings, embedAll } from "../index/embeddings/embeddings.ts"

export interface Meaning {
  /** The nearness of the question to the nearest of the texts: 0 or less is unrelated, 1 is very near. */
  nearness(
    goal: string,
    kind: "table" | "passage",
    texts: readonly string[],
    signal?: AbortSignal,
  ): Promise<number>
  /** The nearness of each word to the nearest of the terms, from 0 to 1. */
  wordNearness(words: readonly string[], terms: readonly string[], signal?: AbortSignal): Promise<number[]>
  /** What the question asks for, from -1 (an explanation) to 1 (figures). */
  form(goal: string, signal?: AbortSignal): Promise<number>
  /** Writes the vectors that were created since the last call. */
  keep(): Promise<void>
}

/** Maximum vectors in memory and on disk. */
const MAX_VECTORS = 5_000
/** Texts per call. Finished batches stay cached if the caller aborts. */
const BATCH = 32
const VERSION = 1

interface Scale {
  /** The similarity of unrelated texts. */
  readonly none: number
  /** The similarity of related texts. */
  readonly near: number
}

interface Scales {
  readonly table: Scale
  readonly passage: Scale
  readonly word: Scale
}

export function meaningOf(embeddings: Embeddings, cache: string | undefined): Meaning {
  const store = vectorStore(embeddings, cache)
  let scales: Promise<Scales> | undefined

  async function calibrated(): Promise<Scales> {
    scales ??= calibrate(store.vectors)
    scales.catch(() => {
      scales = undefined
    })
    return await scales
  }

  return {
    async nearness(goal, kind, texts, signal) {
      if (texts.length === 0) return 0
      const { [kind]: scale } = await calibrated()
      const [question, ...passages] = await store.vectors([goal, ...texts], signal)
      return scaled(scale, Math.max(...passages.map((one) => similarity(question as Float32Array, one))))
    },
    async wordNearness(words, terms, signal) {
      if (terms.length === 0) return words.map(() => 0)
      const { word: scale } = await calibrated()
      const all = await store.vectors([...words, ...terms], signal)
      const known = all.slice(words.length)
      return all
        .slice(0, words.length)
        .map((word) => scaled(scale, Math.max(...known.map((term) => similarity(word, term)))))
    },
    async form(goal, signal) {
      const [question] = await store.vectors([goal], signal)
      const { figures, explanations } = FORMS
      const [ones, others] = [await store.vectors(figures, signal), await store.vectors(explanations, signal)]
      const lead = nearest(question as Float32Array, ones) - nearest(question as Float32Array, others)
      return Math.max(-1, Math.min(1, lead / CLEAR_LEAD))
    },
    keep: store.keep,
  }
}

/** The mean similarity of the nearest few. */
function nearest(vector: Float32Array, others: readonly Float32Array[]): number {
  const found = others.map((other) => similarity(vector, other)).sort((a, b) => b - a)
  return mean(found.slice(0, FEW))
}

const FEW = 3
/** A lead of this much is unambiguous. */
const CLEAR_LEAD = 0.2

function scaled({ none, near }: Scale, value: number): number {
  return near > none ? Math.max(0, Math.min(1, (value - none) / (near - none))) : 0
}

type Vectors = (texts: readonly string[], signal?: AbortSignal) => Promise<Float32Array[]>

async function calibrate(vectors: Vectors): Promise<Scales> {
  const of = (key: keyof (typeof TOPICS)[number]) => vectors(TOPICS.map((topic) => topic[key]))
  const [figures, tables] = [await of("figures"), await of("table")]
  const [explanations, passages] = [await of("explanation"), await of("passage")]
  const [ones, others] = [0, 1].map((side) => vectors(RELATED_WORDS.map((pair) => pair[side] as string)))
  return {
    table: scaleOf(figures, tables),
    passage: scaleOf(explanations, passages),
    word: wordScale((await ones) as Float32Array[], (await others) as Float32Array[]),
  }
}

/** The texts in each row are related. */
function scaleOf(ones: readonly Float32Array[], others: readonly Float32Array[]): Scale {
  const { own, apart } = pairs(ones, others)
  return { none: mean(apart), near: mean(own) }
}

/** Single words are often similar by chance, so the similarity of nearly all unrelated pairs counts as unrelated. */
function wordScale(ones: readonly Float32Array[], others: readonly Float32Array[]): Scale {
  const { own, apart } = pairs(ones, others)
  const sorted = apart.sort((a, b) => a - b)
  return { none: sorted[Math.floor(0.97 * sorted.length)] ?? 1, near: mean(own) }
}

function pairs(ones: readonly Float32Array[], others: readonly Float32Array[]) {
  const own = ones.map((one, i) => similarity(one, others[i] as Float32Array))
  const apart = ones.flatMap((one, i) =>
    others.filter((_, k) => k !== i).map((other) => similarity(one, other)),
  )
  return { own, apart }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}

function similarity(one: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let i = 0; i < one.length; i += 1) sum += (one[i] as number) * (other[i] as number)
  return sum
}

function vectorStore(embeddings: Embeddings, cache: string | undefined) {
  const path = cache && join(cache, `vectors-${digestOf(embeddings.name)}.json`)
  const known = new Map<string, Float32Array>()
  let reading: Promise<void> | undefined
  let isChanged = false

  async function read(): Promise<void> {
    const data = path === undefined ? undefined : await readCache(path)
    const { version, name, vectors } = (data ?? {}) as {
      version?: unknown
      name?: unknown
      vectors?: unknown
    }
    if (version !== VERSION || name !== embeddings.name || typeof vectors !== "object") return
    for (const [digest, text] of Object.entries(vectors ?? {})) {
      const vector = decoded(text)
      const [first] = known.values()
      if (vector !== undefined && vector.length === (first?.length ?? vector.length))
        known.set(digest, vector)
    }
  }

  async function make(texts: ReadonlyMap<string, string>, signal: AbortSignal | undefined): Promise<void> {
    const digests = [...texts.keys()]
    for (let at = 0; at < digests.length; at += BATCH) {
      const batch = digests.slice(at, at + BATCH)
      const made = await embedAll(
        embeddings,
        batch.map((digest) => texts.get(digest) as string),
        undefined,
        signal,
      )
      // Another model with the same name: its earlier vectors are not comparable.
      const [old] = known.values()
      if (old !== undefined && old.length !== made[0]?.length) known.clear()
      for (const [i, digest] of batch.entries()) known.set(digest, made[i] as Float32Array)
      isChanged = true
    }
  }

  return {
    async vectors(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
      reading ??= read()
      await reading
      const digests = texts.map((text) => digestOf(text))
      const wanted = new Map(digests.map((digest, i) => [digest, texts[i] as string]))
      for (let tries = 0; ; tries += 1) {
        const missing = [...wanted].filter(([digest]) => !known.has(digest))
        if (missing.length === 0) break
        if (tries > 1)
          throw fatal(
            "EMBEDDINGS_INVALID",
            `The embeddings "${embeddings.name}" returned vectors of different lengths.`,
          )
        await make(new Map(missing), signal)
      }
      const found = digests.map((digest) => known.get(digest) as Float32Array)
      // Keeps the latest vectors.
      for (const [i, digest] of digests.entries()) {
        known.delete(digest)
        known.set(digest, found[i] as Float32Array)
      }
      for (const digest of known.keys()) {
        if (known.size <= MAX_VECTORS) break
        known.delete(digest)
      }
      return found
    },
    async keep(): Promise<void> {
      if (path === undefined || !isChanged) return
      isChanged = false
      const vectors = Object.fromEntries([...known].map(([digest, vector]) => [digest, encoded(vector)]))
      await writeCache(path, { version: VERSION, name: embeddings.name, vectors })
    },
  }
}

function encoded(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64")
}

function decoded(text: unknown): Float32Array | undefined {
  if (typeof text !== "string") return undefined
  const bytes = new Uint8Array(Buffer.from(text, "base64"))
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined
  const vector = new Float32Array(bytes.buffer)
  return vector.every(Number.isFinite) ? vector : undefined
}

/**
 * Everyday topics for the calibration of embeddings. Each has a question for figures with the table that answers it, and
 * a question for an explanation with the passage that answers it.
 */
interface Topic {
  readonly figures: string
  readonly table: string
  readonly explanation: string
  readonly passage: string
}

export const TOPICS: readonly Topic[] = [
  {
    figures: "How many books did Anna Keller borrow in May?",
    table:
      "loan. book title The Trial, Emma; member name Anna Keller, John Reed; borrowed on; returned on; branch north, centre",
    explanation: "What happens if I return a book too late?",
    passage:
      "Books are lent for four weeks. Whoever brings them back later pays a small fine for every week, and cannot borrow others until it is paid.", // words: allow
  },
  {
    figures: "Which pupils have the lowest marks in chemistry?",
    table: "grade. pupil name Mia Brown, Leo Park; subject chemistry, history; mark; term autumn, spring",
    explanation: "May my child stay at home with a cold?",
    passage:
      "Children with a light cold may attend school. With a fever they stay at home, and parents call the office before eight in the morning.",
  },
  {
    figures: "How many rye loaves were sold on Saturday?",
    table: "sale. article rye loaf, croissant, baguette; pieces; day; till one, two",
    explanation: "How do I keep a sourdough alive?",
    passage:
      "Feed the starter with flour and lukewarm water every second day, stir it well, and keep it in a jar with a loose lid. In the fridge once a week is enough.",
  },
  {
    figures: "What was the mileage of the red van at its last inspection?",
    table:
      "inspection. plate B-17, K-204; vehicle red van, small truck; mileage; inspected on; mechanic Ruiz, Holm",
    explanation: "Why do brakes squeal when it rains?",
    passage:
      "Moisture and a film of rust on the discs make the pads vibrate. After a few stops the noise goes away; if it does not, have the pads checked.",
  },
  {
    figures: "Which goalkeeper saved the most penalties last season?",
    table:
      "player statistics. player Marco Diaz, Sven Lund; position goalkeeper, defender; penalties saved; season; club Rovers, United",
    explanation: "When is a player offside?",
    passage:
      "A player is in an offside position if he is nearer to the goal line than both the ball and the second last opponent when the ball is played to him.",
  },
  {
    figures: "Total donations received from companies in 2022",
    table:
      "donation. donor Lind Ltd, Rosa Perez; donor type company, private; amount; received on; purpose school, well",
    explanation: "Who decides which projects get money?",
    passage:
      "Applications are read by two volunteers. The board meets every quarter, hears their opinion, and decides by majority which projects are supported.",
  },
  {
    figures: "How many litres did the cow Berta give this week?",
    table: "milking. animal Berta, Alma; litres; milked at; fat percent; stable east, west",
    explanation: "How is a sick calf treated?",
    passage:
      "Separate the calf from the herd, keep it warm and dry, and give small amounts of water with salt and sugar. Call the vet if it does not drink.",
  },
  {
    figures: "Average delay of trains on the coast line",
    table: "departure. line coast, valley; train number; planned; actual; delay minutes; platform",
    explanation: "Can I get my money back when the train is late?",
    passage:
      "After an hour of delay a quarter of the fare is refunded, after two hours half of it. Fill in the form and hand it in with the ticket at any counter.",
  },
]

/** Pairs of words with similar meaning. Words of different pairs are unrelated. */
export const RELATED_WORDS: readonly (readonly [string, string])[] = [
  ["fish", "salmon"],
  ["vehicle", "car"],
  ["cash", "money"],
  ["physician", "doctor"],
  ["begin", "start"],
  ["shop", "store"],
  ["job", "work"],
  ["street", "road"],
  ["dinner", "meal"],
  ["friday", "weekday"],
  ["laundry", "washing"],
  ["purchase", "buy"],
  ["rain", "weather"],
  ["guitar", "instrument"],
  ["teacher", "school"],
  ["sick", "illness"],
]

/** Sample questions for figures and records, and for explanations. A question is classified by the nearest samples. */
const FORMS = {
  figures: [
    "How many orders were placed in March?",
    "Which customers live in Berlin?",
    "What is the total revenue of 2023?",
    "When was the last payment received?",
    "List all employees hired since 2020",
    "What is the average price per litre?",
    "Who has the most points?",
    "What is the phone number of Mr Brown?",
    "How much did Anna pay?",
    "Which product sold best?",
    "Who works on Monday?",
    "What is the status of order 17?",
    ...TOPICS.map(({ figures }) => figures),
  ],
  explanations: [
    "How do I reset my password?",
    "What should I do when the alarm rings?",
    "Are visitors allowed to park here?",
    "Why is the light red?",
    "Who is responsible for the keys?",
    "What happens if I pay late?",
    "May I bring my own food?",
    "How long do I have to wait before I may drive?",
    "What are the rules for travel expenses?",
    "How is milk stored safely?",
    "When must a form be signed?",
    "Can I get my money back?",
    ...TOPICS.map(({ explanation }) => explanation),
  ],
}
