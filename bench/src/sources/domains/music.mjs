// A publisher of music.
import { csvOf, cycle, dates, numbersFrom, sqlRows } from "../make.mjs"

const random = numbersFrom(41)
const works = [
  "Paper Lanterns",
  "Cold Harbour Road",
  "Neon Psalm",
  "Salt and Cedar",
  "Midnight Ferry",
  "Velvet Static",
  "Ashes in June",
  "Tin Roof Waltz",
  "Glass Orchard",
  "Hollow Crown",
]
const writers = [
  "Imani Clarke",
  "Jonas Feld",
  "Rosa Quintero",
  "Theo Marchetti",
  "Aiko Mori",
  "Silas Whitfield",
]

export const music = {
  name: "music rights",
  sql: `
    CREATE TABLE ip (ipi_no bigint PRIMARY KEY, ip_nm text, soc text, rl char(2));
    CREATE TABLE wrk (iswc text PRIMARY KEY, ttl text, lng text, dur_s int, reg_dt date);
    CREATE TABLE shr (iswc text REFERENCES wrk, ipi_no bigint REFERENCES ip, mech_pct numeric(5, 2), perf_pct numeric(5, 2));
    CREATE TABLE agr (agr_no int PRIMARY KEY, ipi_no bigint REFERENCES ip, terr text, st_dt date, end_dt date, adv_eur numeric(10, 2));
    CREATE TABLE ryl (ryl_no int PRIMARY KEY, iswc text REFERENCES wrk, prd text, src text, eur numeric(10, 2));
    CREATE TABLE rec (isrc text PRIMARY KEY, iswc text REFERENCES wrk, artst text, lbl text, rls date);
    ${sqlRows(
      "ip",
      writers.map((name, i) => [
        100_200_300 + i * 991,
        name,
        cycle(["PRS", "GEMA", "SGAE", "SIAE", "JASRAC", "ASCAP"], i),
        cycle(["CA", "C", "A"], i),
      ]),
    )}
    ${sqlRows(
      "wrk",
      works.map((title, i) => [
        `T-${String(70_010 + i * 313)}`,
        title,
        cycle(["English", "German", "Spanish", "Italian"], i),
        150 + i * 17,
        `20${18 + (i % 7)}-04-0${1 + (i % 9)}`,
      ]),
    )}
    ${sqlRows(
      "shr",
      works.flatMap((_, i) =>
        [0, 1].map((k) => [
          `T-${70_010 + i * 313}`,
          100_200_300 + ((i + k) % writers.length) * 991,
          50,
          k === 0 ? 60 : 40,
        ]),
      ),
    )}
    ${sqlRows(
      "agr",
      writers.map((_, i) => [
        i + 1,
        100_200_300 + i * 991,
        cycle(["world", "Europe", "North America"], i),
        `202${i % 4}-01-01`,
        `202${6 + (i % 3)}-12-31`,
        5_000 + i * 2_500,
      ]),
    )}
    ${sqlRows(
      "ryl",
      Array.from({ length: 120 }, (_, i) => [
        i + 1,
        `T-${70_010 + (i % works.length) * 313}`,
        `202${3 + (i % 3)}Q${1 + (i % 4)}`,
        cycle(["radio", "television", "cinema", "private copying"], i),
        Math.floor(random() * 90_000) / 100,
      ]),
    )}
    ${sqlRows(
      "rec",
      works.map((_, i) => [
        `GBX${2_000_000 + i * 7_919}`,
        `T-${70_010 + i * 313}`,
        cycle(["The Brambles", "Odalys", "Kestrel Choir"], i),
        cycle(["Foxglove Records", "Nachtklang"], i),
        `202${i % 5}-09-13`,
      ]),
    )}`,
  files: {
    "strm_cnt.csv": csvOf(
      ["dsp", "cty", "trk", "mth", "plays"],
      Array.from({ length: 90 }, (_, i) => [
        cycle(["Spotwave", "Tunely", "Deezerra"], i),
        cycle(["Brazil", "France", "Canada", "Kenya"], i),
        cycle(works, i),
        `2025-0${1 + (i % 6)}`,
        1_000 + i * 137,
      ]),
    ),
    "cnc_set.csv": csvOf(
      ["act", "vnu", "cit", "gig_dt", "sng", "att"],
      dates("2024-03-01", 45, 6).map((day, i) => [
        cycle(["The Brambles", "Odalys"], i),
        cycle(["Corn Exchange", "Blue Note Cellar", "Arena Nord"], i),
        cycle(["Leeds", "Lyon", "Oslo"], i),
        day,
        cycle(works, i * 3),
        200 + i * 40,
      ]),
    ),
    "sync_rq.csv": csvOf(
      ["prod_co", "medium", "sng", "fee_ask", "sts"],
      Array.from({ length: 24 }, (_, i) => [
        cycle(["Lumen Pictures", "Brightcart Ads", "Pixelforge Games"], i), // words: allow
        cycle(["film", "commercial", "video game"], i),
        cycle(works, i),
        2_000 + i * 500,
        cycle(["granted", "pending", "declined"], i),
      ]),
    ),
  },
  documents: [
    {
      source: "samples.md",
      text: "# Borrowed sound\n\nEven two seconds taken from another recording need a yes from both the label and the publisher, in writing and before release. We never clear afterwards: asking late has cost half of the income more than once.",
    },
    {
      source: "disputes.md",
      text: "# Conflicting claims\n\nIf the claims on a song add up to more than the whole, the money is frozen. Each side has ninety days to send proof. After that the matter goes to the arbitration board of the society.",
    },
    {
      source: "covers.md",
      text: "# New versions\n\nAnyone may record their own version of a published song against the statutory rate. Changing the words or the melody is an adaptation, and that the author can refuse.",
    },
    {
      source: "unclaimed.md",
      text: "# Money without an owner\n\nSums that cannot be matched are held for three years. Then they are divided among all members in proportion to their earnings. Search the list twice a year: a misspelt title is the usual reason.",
    },
    {
      source: "registering.md",
      text: "# Announcing a song\n\nSend title, writers and their portions before the first broadcast. Everybody who wrote a line signs the split sheet on the day of the session; memory gets worse with success.", // words: allow
    },
    {
      source: "term.md",
      text: "# How long protection lasts\n\nSeventy years after the death of the last surviving author. For the recording itself it is seventy years from publication. Folk tunes are free; arrangements of them are not.",
    },
    {
      source: "audit.md",
      text: "# Checking a label's books\n\nOnce in a calendar year, with thirty days' notice and an accountant who is bound to silence. If more than five per cent is missing the label bears the cost.",
    },
    {
      source: "ai.md",
      text: "# Machine-made music\n\nA tune generated without a human hand is not registered. Where a person chose, arranged or rewrote, name that person, and describe the tool in the remarks.",
    },
    {
      source: "minors.md",
      text: "# Young writers\n\nA contract with somebody under eighteen is signed by both parents, and a court confirms it if it runs for more than a year.",
    },
  ],
  questions: [
    [
      "Who wrote Velvet Static?",
      "database",
      "SELECT ip_nm FROM ip JOIN shr USING (ipi_no) JOIN wrk USING (iswc) WHERE ttl = 'Velvet Static' ORDER BY ip_nm",
    ],
    ["Which writers are members of GEMA?", "database", "SELECT ip_nm FROM ip WHERE soc = 'GEMA'"],
    [
      "How much did Neon Psalm earn from radio?",
      "database",
      "SELECT sum(eur) FROM ryl JOIN wrk USING (iswc) WHERE ttl = 'Neon Psalm' AND src = 'radio'",
    ],
    [
      "When does the agreement with Rosa Quintero end?",
      "database",
      "SELECT end_dt FROM agr JOIN ip USING (ipi_no) WHERE ip_nm = 'Rosa Quintero'",
    ],
    [
      "What advance did Silas Whitfield get?",
      "database",
      "SELECT adv_eur FROM agr JOIN ip USING (ipi_no) WHERE ip_nm = 'Silas Whitfield'",
    ],
    ["How many works are in Spanish?", "database", "SELECT count(*) FROM wrk WHERE lng = 'Spanish'"],
    [
      "Which recordings came out on Foxglove Records?",
      "database",
      "SELECT isrc FROM rec WHERE lbl = 'Foxglove Records' ORDER BY isrc",
    ],
    [
      "Total royalties from television in 2024Q2",
      "database",
      "SELECT sum(eur) FROM ryl WHERE src = 'television' AND prd = '2024Q2'",
    ],
    [
      "What is the performance share of Jonas Feld in Cold Harbour Road?",
      "database",
      "SELECT perf_pct FROM shr JOIN ip USING (ipi_no) JOIN wrk USING (iswc) WHERE ip_nm = 'Jonas Feld' AND ttl = 'Cold Harbour Road'",
    ],
    [
      "How many plays did Midnight Ferry have on Tunely?",
      "files",
      "SELECT sum(plays) FROM strm_cnt WHERE trk = 'Midnight Ferry' AND dsp = 'Tunely'",
    ],
    [
      "In which country was Glass Orchard streamed most?",
      "files",
      "SELECT cty FROM strm_cnt WHERE trk = 'Glass Orchard' GROUP BY cty ORDER BY sum(plays) DESC LIMIT 1",
    ],
    [
      "How many concerts did Odalys give in Lyon?",
      "files",
      "SELECT count(*) FROM cnc_set WHERE act = 'Odalys' AND cit = 'Lyon'",
    ],
    [
      "What was the largest audience at Arena Nord?",
      "files",
      "SELECT max(att) FROM cnc_set WHERE vnu = 'Arena Nord'",
    ],
    [
      "Which sync requests are still pending?",
      "files",
      "SELECT prod_co, sng FROM sync_rq WHERE sts = 'pending' ORDER BY 1, 2",
    ],
    [
      "What fee was asked for using Hollow Crown in a commercial?",
      "files",
      "SELECT fee_ask FROM sync_rq WHERE sng = 'Hollow Crown' AND medium = 'commercial'",
    ],
    [
      "Which songs did The Brambles play live in Leeds?",
      "files",
      "SELECT DISTINCT sng FROM cnc_set WHERE act = 'The Brambles' AND cit = 'Leeds' ORDER BY 1",
    ],
    ["May I use a short snippet of someone else's record?", "documents", "samples.md"],
    ["What happens when two publishers claim the same song?", "documents", "disputes.md"],
    ["Can a songwriter forbid a cover version?", "documents", "covers.md"],
    ["What becomes of royalties nobody can be found for?", "documents", "unclaimed.md"],
    ["How many years is a song protected after the composer dies?", "documents", "term.md"],
    ["How do we inspect the accounts of a record company?", "documents", "audit.md"],
    ["Can a song made by artificial intelligence be registered?", "documents", "ai.md"],
    ["What do we need to sign a sixteen year old author?", "documents", "minors.md"],
  ],
}
