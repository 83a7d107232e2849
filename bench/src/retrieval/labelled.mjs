// The labelled set: passages, each with a question in other words and one that names something in it. Written by hand
// for this benchmark, about everyday things that are near to each other.
export const labelled = [
  [
    "The clinic opens at seven and takes patients without an appointment until noon. Ask for form KX-204.",
    "when can I see a doctor without booking",
    "KX-204",
  ],
  [
    "To return shoes, put them back into the box and hand it in at any post office within thirty days. Label: RTN-88.",
    "sending footwear back to the shop",
    "RTN-88",
  ],
  [
    "The night train to Lisbon leaves from platform nine; sleeping berths are sold out in August. Service IC-731.",
    "travelling to Portugal by rail overnight",
    "IC-731",
  ],
  [
    "Boil the pasta in salted water, keep a cup of it, and stir it into the cheese until it is creamy. Recipe cacio.",
    "how do I cook spaghetti with a cheese sauce",
    "cacio",
  ],
  [
    "Tomato seedlings need warmth and light; plant them outside after the last frost. Variety Brandyblau.",
    "growing vegetables in the garden in spring",
    "Brandyblau",
  ],
  [
    "The router blinks red when the line is down. Unplug it for ten seconds and wait for the green light. Model Zynqo.",
    "my internet connection does not work",
    "Zynqo",
  ],
  [
    "Employees earn two days of paid leave a month; unused days expire in March. Policy HR-17.",
    "how much vacation do workers get",
    "HR-17",
  ],
  [
    "The museum's new wing shows paintings of the Dutch golden age, among them three portraits by Hals. Room 4B7.",
    "art exhibition with old masters from the Netherlands",
    "4B7",
  ],
  [
    "A puppy should see the vet at eight weeks for its first vaccination against distemper. Vaccine Nobivex.",
    "shots for a young dog",
    "Nobivex",
  ],
  [
    "Rates for a fixed mortgage rose to four percent; lenders ask for a fifth of the price in cash. Index Q3-MTG.",
    "what does it cost to borrow for buying a house",
    "Q3-MTG",
  ],
  [
    "The brakes squeal when the pads are worn. Have them replaced before the discs are damaged. Part 5510-B.",
    "my car makes a noise when I stop",
    "5510-B",
  ],
  [
    "The choir rehearses on Tuesdays in the parish hall; new voices, above all tenors, are welcome. Contact Odalys.",
    "I would like to join a group that sings",
    "Odalys",
  ],
  [
    "Heavy rain is expected in the north, with floods along the rivers; the south stays dry. Warning level Amber-2.",
    "weather forecast for the weekend",
    "Amber-2",
  ],
  [
    "The exam has forty questions; you pass with thirty right answers and may repeat it once. Code EXM-9.",
    "how many points do I need to succeed in the test",
    "EXM-9",
  ],
  [
    "Pack the tent dry, or mould will grow on it; a wet one must be hung up at home. Fabric Silvanyl.",
    "storing camping equipment after a trip",
    "Silvanyl",
  ],
  [
    "The battery of the phone lasts longer when it is not charged above eighty percent. Setting OptiCell.",
    "making a mobile's accumulator live longer",
    "OptiCell",
  ],
  [
    "Children under six travel free of charge, those under fifteen at half the fare. Tariff zone K12.",
    "ticket price for kids on the bus",
    "K12",
  ],
  [
    "The council will plant three hundred oaks along the ring road to give shade and to clean the air. Project Quercia.",
    "new trees in the city",
    "Quercia",
  ],
  [
    "Sourdough needs a starter that is fed with flour and water every day for a week. Starter name Bertil.",
    "baking bread without yeast from a packet",
    "Bertil",
  ],
  [
    "Our team lost the final by one goal in the last minute; the keeper was injured. Stadium Arvika.",
    "result of the football championship",
    "Arvika",
  ],
  [
    "Passports are issued within six weeks; for double the fee you get one in three days. Counter P-6.",
    "I need a travel document quickly",
    "P-6",
  ],
  [
    "The washing machine stops with water in it when the filter is blocked; open the flap at the bottom. Error F18.",
    "laundry appliance does not drain",
    "F18",
  ],
  [
    "Take one tablet after meals, never with alcohol; see a doctor if you get a rash. Active agent Toradexil.",
    "how should the medicine be swallowed and what are side effects",
    "Toradexil",
  ],
  [
    "The glacier has lost a third of its ice in twenty years and feeds the river less each summer. Station Gl-3.",
    "effects of global warming in the mountains",
    "Gl-3",
  ],
  [
    "Chess begins with the white side; whoever gives mate to the king wins. Opening Grünfeld.",
    "rules of a board game with pieces on squares",
    "Grünfeld",
  ],
  [
    "The flat has two bedrooms and a balcony; the rent is nine hundred, heating included. Object LST-4410.",
    "apartment to let",
    "LST-4410",
  ],
  [
    "Bees dance to tell each other where flowers are: the angle is the direction, the length the distance. Hive Tilda.",
    "how insects communicate where food is",
    "Tilda",
  ],
  [
    "Invoices are paid within fourteen days; after that, interest of two percent is due. Ledger R-77.",
    "what happens when a bill is settled late",
    "R-77",
  ],
  [
    "The library lends films and games too; fines for late books were abolished. Card type Lumo.",
    "borrowing movies for free",
    "Lumo",
  ],
  [
    "Wear a helmet: it halves the risk of a head injury when you fall off a bicycle. Norm EN1078.",
    "safety when cycling",
    "EN1078",
  ],
  [
    "The telescope found water vapour on a planet that circles a red dwarf a hundred light years away. Planet K2-18b.",
    "discovery in astronomy about other worlds",
    "K2-18b",
  ],
  [
    "Paint the wood twice and sand it in between; the second coat dries overnight. Colour Havsgrön.",
    "how to varnish furniture",
    "Havsgrön",
  ],
  [
    "The strike of pilots ended after nine days with a raise of six percent. Union Vereinigte-C.",
    "labour dispute at the airline",
    "Vereinigte-C",
  ],
  [
    "Warm up before you run, and increase the distance by a tenth a week at the most. Plan Marra-10.", // words: allow
    "training for jogging without getting hurt",
    "Marra-10",
  ],
  [
    "The bakery on the corner closes on Mondays; its rye loaf sells out by ten. Shop Hällbrot.",
    "where to buy fresh loaves in the morning",
    "Hällbrot",
  ],
  [
    "A will must be written by hand and signed, or made before a notary. Paragraph 2247.",
    "who inherits my property after death",
    "2247",
  ],
  [
    "The harbour freezes in January; ferries then go only once a day behind an icebreaker. Vessel Sisuri.",
    "ships in winter",
    "Sisuri",
  ],
  [
    "Wind turbines made more power than coal for the first time last year. Report EN-2031.",
    "renewable electricity overtakes fossil fuels",
    "EN-2031",
  ],
  [
    "Babies sleep up to seventeen hours a day, in bits of two to four hours. Leaflet Wiege.",
    "how long does a newborn rest",
    "Wiege",
  ],
  [
    "The violin's strings are tuned in fifths, from the open G up to E. Maker Cremonel.",
    "adjusting the pitch of a musical instrument",
    "Cremonel",
  ],
].map(([passage, question, term], i) => ({
  source: `labelled/${i}`,
  passage,
  questions: [question, `what about ${term}?`],
}))

const subjects = [
  "office",
  "garden",
  "station",
  "school",
  "kitchen",
  "workshop",
  "hospital",
  "theatre",
  "market",
  "harbour",
]
const things = ["door", "lamp", "table", "bell", "clock", "roof", "window", "stairs", "heating", "floor"]
const doings = [
  "was repaired",
  "is cleaned twice a week",
  "is closed for holidays",
  "was painted green",
  "is checked by the caretaker",
  "has been moved upstairs",
  "is out of order",
]
const times = [
  "on Monday",
  "in the evening",
  "before the summer",
  "last year",
  "after the meeting",
  "during the fair",
]

/** Passages that answer none of the questions. */
export function distractors(count) {
  const pick = (list, i) => list[i % list.length]
  return Array.from({ length: count }, (_, i) => {
    const sentence = (k) =>
      `The ${pick(things, k)} of the ${pick(subjects, k * 7 + 3)} ${pick(doings, k * 5 + 1)} ${pick(times, k * 11)}.`
    return { source: `other/${i}`, text: `${sentence(i)} ${sentence(i * 3 + 1)} Note ${i}.` }
  })
}
