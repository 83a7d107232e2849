/** Paraphrased questions over the handbook of a housing cooperative. */
import { expect, test } from "vitest"
import { offlineEmbeddings } from "./embeddings/embeddings.ts"
import { freshFolder, openIndex } from "./index.test-support.ts"

const PASSAGES: Readonly<Record<string, string>> = {
  noise:
    "Between ten in the evening and six in the morning music and drilling are not permitted. Washing machines stop at nine.",
  bins: "Paper goes into the blue container, glass into the green one. Furniture is collected on the first Tuesday of the month.",
  stairs:
    "Every household sweeps its landing once a week. Prams may stand under the letter boxes; bicycles may not.",
  keys: "Whoever loses a key tells the caretaker at once. The lock of the front door is then exchanged at the expense of the tenant.",
  rent: "The monthly amount is due on the third working day. Two missed payments are a reason for notice.",
  deposit:
    "Three months' rent is held in an account and paid back with interest when the flat has been handed over without damage.",
  subletting: "A room may be passed on to somebody else for up to a year if the board has agreed in writing.",
  pets: "One dog or two cats can be kept. Snakes and spiders need a written permit.",
  heating:
    "Radiators are switched on from October to April. If it stays colder than nineteen degrees, report it to the office.",
  mould: "Open the windows wide for ten minutes three times a day. Do not put cupboards against outer walls.",
  garden:
    "Plots behind house four are drawn by lot each spring. Trees higher than three metres need the consent of the neighbours.",
  barbecue: "Charcoal grills are used only on the lawn beside the pond, never on balconies.",
  balcony: "Satellite dishes are not mounted on railings. Flower boxes hang on the inside.",
  laundry: "Enter your name in the list on the door. The dryer takes tokens, which the kiosk sells.",
  guests: "Visitors may stay for six weeks. After that they are reported to the registry.",
  parking: "Spaces are let with a contract of their own. A caravan is not left there over winter.",
  charging:
    "Electric cars are loaded at the wall boxes in the underground garage; the card is issued by the office for a fee.",
  lift: "If the cabin gets stuck, press the yellow button for five seconds and wait: someone answers day and night.",
  fire: "Smoke detectors are tested every autumn. Candles are not left burning alone.",
  water:
    "A dripping tap wastes thirty litres a day. Small repairs up to eighty euros are borne by the resident.",
  meeting: "The general assembly meets in June. Motions are handed in two weeks earlier.",
  shares: "Joining costs five shares. Whoever leaves gets the money at the end of the following year.",
  board: "Three members are elected for four years. They may not be employed by the cooperative.",
  moving: "Give three months' notice by letter. Walls are painted white before the flat is returned.",
  swap: "Families that need more space can exchange flats with older members. The office keeps the list.",
  internet: "A fibre line ends in the hallway. You choose the provider yourself.",
  renovation: "Tiles, floors and walls are changed only after the technician has looked at the plans.",
  insurance:
    "The building is insured against storm and burst pipes. What is in the flat you insure yourself.",
  cellar: "Nothing that burns easily is kept in the compartments. The corridor stays free.",
  playground:
    "Children up to twelve play there until eight o'clock. Ball games take place behind the garages.",
}

const QUESTIONS: readonly (readonly [question: string, passage: string])[] = [
  ["May I practise the trumpet at midnight?", "noise"],
  ["How do I get rid of an old sofa?", "bins"],
  ["What happens if I cannot pay two months in a row?", "rent"],
  ["When do I get my security money back?", "deposit"],
  ["Can I let my place to a student while I am abroad?", "subletting"],
  ["Is it all right to own a python?", "pets"],
  ["My living room is freezing", "heating"],
  ["There are black spots and damp in the corner of the bedroom", "mould"],
  ["Where can I grow vegetables?", "garden"],
  ["Where may we cook sausages outdoors?", "barbecue"],
  ["I am trapped in the elevator", "lift"],
  ["Who pays for my stolen television?", "insurance"],
]

test("at least ten of twelve paraphrased questions have their passage among the first five", async () => {
  const embeddings = offlineEmbeddings()
  try {
    const index = openIndex(freshFolder(), { embeddings })
    await index.add(Object.entries(PASSAGES).map(([source, text]) => ({ source, text })))
    const found = async (mode: "text" | "merged") => {
      const places = QUESTIONS.map(async ([question, source]) =>
        (await index.search(question, { mode, limit: 5 })).some((one) => one.source === source),
      )
      return (await Promise.all(places)).filter(Boolean).length
    }
    const byWords = await found("text")
    const merged = await found("merged")
    expect(merged).toBeGreaterThanOrEqual(10)
    expect(merged).toBeGreaterThan(byWords)
  } finally {
    await embeddings.close?.()
  }
})
