/**
 * Everyday topics for the calibration of embeddings. Each has a question for figures with the table that answers it, and
 * a question for an explanation with the passage that answers it.
 */
export interface Topic {
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
export const FORMS = {
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
