/** Fan-in: the join policies all, any, quorum and settle, on quotes from three carriers. */
import { any, node, quorum, type Settled, settle, workflow } from "superstep"

interface Quote {
  readonly carrier: string
  readonly price: number
}

const parcel = node("parcel", (kilos: number) => kilos)
const air = node("air", (kilos: number): Quote => ({ carrier: "air", price: kilos * 9 }))
const road = node("road", (kilos: number): Quote => ({ carrier: "road", price: kilos * 2 + 30 }))
const sea = node("sea", (kilos: number): Quote => {
  if (kilos < 50) throw new Error("less than 50 kg is not shipped by sea")
  return { carrier: "sea", price: kilos + 20 }
})
const carriers = [air, road, sea] as const

const cheapest = node("cheapest", (quotes: readonly Quote[]) => {
  const [first, ...others] = quotes.toSorted((a, b) => a.price - b.price)
  return `${first?.carrier} for ${first?.price}, of ${others.length + 1}`
})
const overview = node("overview", (quotes: readonly Settled<Quote>[]) =>
  quotes
    .map((quote) => (quote.ok ? `${quote.value.carrier} for ${quote.value.price}` : quote.error.message))
    .join("; "),
)

const quoting = (name: string) => workflow(name).start(parcel).fanOut(parcel, carriers)

/** Waits for every carrier. A carrier that fails would fail the run. */
export const best = quoting("best").fanIn(carriers, cheapest).build()

/** Takes the first answer. Answers of the same superstep count in the order of the sources. */
export const first = quoting("first").fanIn(carriers, cheapest, { join: any() }).build()

/** Two answers are enough. A third one is late, and reported as undelivered. */
export const twoOfThree = quoting("two-of-three")
  .fanIn(carriers, cheapest, { join: quorum(2) })
  .build()

/** Treats failures as values: every carrier has a line, whether it failed or not. */
export const every = quoting("every").fanIn(carriers, overview, { join: settle() }).build()

if (import.meta.filename === process.argv[1]) {
  console.log("all:   ", ...(await best.run(80)).outputs)
  console.log("any:   ", ...(await first.run(80)).outputs)
  console.log("quorum:", ...(await twoOfThree.run(80)).outputs)
  console.log("settle:", ...(await every.run(20)).outputs)
}
