// A container port.
import { csvOf, cycle, dates, numbersFrom, sqlRows } from "../make.mjs"

const random = numbersFrom(31)
const vessels = [
  ["Nordic Halifax", "Panama", 8_500],
  ["Ever Bonny", "Liberia", 14_000],
  ["Cap Verde", "Malta", 6_200],
  ["Maren Skou", "Denmark", 11_300],
  ["Jade Horizon", "Singapore", 9_100],
  ["Atlantic Heron", "Portugal", 4_400],
]

export const port = {
  name: "container port",
  sql: `
    CREATE TABLE vsl (imo int PRIMARY KEY, vsl_nm text, flg text, cap_teu int, loa_m numeric(6, 2));
    CREATE TABLE brth (brth_cd text PRIMARY KEY, dpth_m numeric(4, 1), trm text);
    CREATE TABLE prt_cll (cll_no int PRIMARY KEY, imo int REFERENCES vsl, brth_cd text REFERENCES brth, eta timestamp, ata timestamp, atd timestamp);
    CREATE TABLE cntr (cntr_no text PRIMARY KEY, cll_no int REFERENCES prt_cll, iso_typ text, grs_kg int, hz_cls text, cnsgn text);
    CREATE TABLE crn_mv (mv_no int PRIMARY KEY, cntr_no text REFERENCES cntr, crn text, mv_ts timestamp, opr text);
    CREATE TABLE hld (cntr_no text REFERENCES cntr, hld_by text, rel_ts timestamp);
    COMMENT ON COLUMN cntr.hz_cls IS 'IMDG class';
    ${sqlRows(
      "vsl",
      vessels.map(([name, flag, teu], i) => [9_300_000 + i * 77, name, flag, teu, 180 + i * 31]),
    )}
    ${sqlRows("brth", [
      ["E1", 14.5, "Eastquay"],
      ["E2", 14.5, "Eastquay"],
      ["W1", 11, "Westmole"],
      ["W2", 9.5, "Westmole"],
    ])}
    ${sqlRows(
      "prt_cll",
      dates("2025-01-02", 50, 4).map((day, i) => [
        i + 1,
        9_300_000 + (i % vessels.length) * 77,
        cycle(["E1", "W1", "E2", "W2", "E1"], i),
        `${day} 06:00`,
        `${day} 0${6 + (i % 3)}:30`,
        `${day} 22:15`,
      ]),
    )}
    ${sqlRows(
      "cntr",
      Array.from({ length: 120 }, (_, i) => [
        `MSKU${100_000 + i * 13}`,
        1 + (i % 50),
        cycle(["22G1", "45R1", "42G1"], i),
        4_000 + Math.floor(random() * 26_000),
        i % 9 === 0 ? cycle(["3", "8", "1.4"], i / 9) : null,
        cycle(["Hartmann Coffee", "Vela Furniture", "Lindor Chemicals", "Oceana Foods"], i),
      ]),
    )}
    ${sqlRows(
      "crn_mv",
      Array.from({ length: 150 }, (_, i) => [
        i + 1,
        `MSKU${100_000 + (i % 120) * 13}`,
        cycle(["STS-1", "STS-2", "STS-3"], i),
        `2025-02-${String(1 + (i % 28)).padStart(2, "0")} 10:00`,
        cycle(["Bakker", "Silva", "Jensen"], i),
      ]),
    )}
    ${sqlRows(
      "hld",
      Array.from({ length: 20 }, (_, i) => [
        `MSKU${100_000 + i * 26}`,
        cycle(["customs", "veterinary", "unpaid freight"], i),
        i % 2 === 0 ? null : "2025-03-01 09:00",
      ]),
    )}`,
  files: {
    "tug_jb.csv": csvOf(
      ["tug", "ast_shp", "jb_dt", "dur_min", "bllrd_t"],
      dates("2025-01-02", 40, 3).map((day, i) => [
        cycle(["Titan", "Samson", "Goliath"], i),
        cycle(vessels, i)[0],
        day,
        35 + (i % 50),
        cycle([60, 75, 90], i),
      ]),
    ),
    "gt_trk.csv": csvOf(
      ["plt", "hlr", "in_ts", "out_ts", "lane"],
      dates("2025-02-01", 60, 1).map((day, i) => [
        `${cycle(["KL", "BX", "RT"], i)}-${400 + i}`,
        cycle(["Roadline", "Van Dijk Transport", "Cargoswift"], i),
        `${day} 08:${10 + (i % 40)}`,
        `${day} 09:${10 + (i % 40)}`,
        1 + (i % 4),
      ]),
    ),
    "wthr_ob.csv": csvOf(
      ["stn", "ob_ts", "wnd_kn", "gst_kn", "vis_m", "tide_m"],
      dates("2025-01-01", 50, 2).map((day, i) => [
        cycle(["breakwater", "pilot tower"], i),
        `${day} 12:00`,
        5 + (i % 30),
        10 + (i % 40),
        9_000 - (i % 9) * 900,
        1 + (i % 5) / 2,
      ]),
    ),
  },
  documents: [
    {
      source: "dangerous-goods.md",
      text: "# Dangerous goods\n\nExplosives are not stored: they go straight from ship to lorry, with the fire service present. Flammables and oxidisers stand at least two rows apart. The declaration has to be with us twenty-four hours before arrival.",
    },
    {
      source: "pilotage.md",
      text: "# Pilots\n\nShips longer than ninety metres take a pilot. The master orders one three hours ahead through the agent. Boarding is two miles south of the outer buoy; the ladder is rigged on the lee side.",
    },
    {
      source: "storm.md",
      text: "# Heavy weather\n\nCranes stop when gusts pass forty-five knots, are run to their pins and lashed. Empty boxes are not stacked more than two high. The harbour master alone reopens the quay.",
    },
    {
      source: "mooring.md",
      text: "# Making fast\n\nStay clear of the snap-back zone. No line is handled without gloves and a life vest, and never alone. A worn rope is cut up so that nobody uses it again.",
    },
    {
      source: "customs.md",
      text: "# Inspections\n\nThe officer picks boxes for the scanner; the haulier waits in the holding area. A broken seal is photographed, replaced, and entered in the log. The importer bears the costs of unpacking.",
    },
    {
      source: "waste.md",
      text: "# Rubbish from ships\n\nOily water, galley leftovers and plastic are handed in separately. The fee is part of the harbour dues, whether or not anything is landed. Leftovers from outside the union are burnt.",
    },
    {
      source: "access.md",
      text: "# Who may enter\n\nVisitors are announced by noon of the day before, show a passport, and are accompanied. Seafarers pass with their crew list. Photographs need a permit of the security officer.",
    },
    {
      source: "reefers.md",
      text: "# Refrigerated cargo\n\nPlug in within two hours of discharge and read the temperature every six. A deviation of more than two degrees is reported to the line by telephone. Power is billed by the hour.",
    },
    {
      source: "spill.md",
      text: "# Oil on the water\n\nRaise the alarm on channel twelve, close the drains, lay the boom from upwind. Whoever caused it does not start cleaning before samples have been taken.",
    },
  ],
  questions: [
    [
      "How many times did the Ever Bonny visit us?",
      "database",
      "SELECT count(*) FROM prt_cll JOIN vsl USING (imo) WHERE vsl_nm = 'Ever Bonny'",
    ],
    ["Which ships sail under the flag of Malta?", "database", "SELECT vsl_nm FROM vsl WHERE flg = 'Malta'"],
    ["How deep is berth W2?", "database", "SELECT dpth_m FROM brth WHERE brth_cd = 'W2'"],
    [
      "Which containers are for Lindor Chemicals?",
      "database",
      "SELECT cntr_no FROM cntr WHERE cnsgn = 'Lindor Chemicals' ORDER BY cntr_no",
    ],
    [
      "How many boxes are still held by customs?",
      "database",
      "SELECT count(*) FROM hld WHERE hld_by = 'customs' AND rel_ts IS NULL",
    ],
    [
      "Number of crane moves made by operator Silva",
      "database",
      "SELECT count(*) FROM crn_mv WHERE opr = 'Silva'",
    ],
    [
      "What is the heaviest container by gross weight?",
      "database",
      "SELECT cntr_no FROM cntr ORDER BY grs_kg DESC LIMIT 1",
    ],
    [
      "When did the Cap Verde last depart?",
      "database",
      "SELECT max(atd) FROM prt_cll JOIN vsl USING (imo) WHERE vsl_nm = 'Cap Verde'",
    ],
    [
      "Which vessel has the largest capacity in TEU?",
      "database",
      "SELECT vsl_nm FROM vsl ORDER BY cap_teu DESC LIMIT 1",
    ],
    ["How many jobs did the tug Samson do?", "files", "SELECT count(*) FROM tug_jb WHERE tug = 'Samson'"],
    [
      "How long did it take on average to tow in the Jade Horizon?",
      "files",
      "SELECT avg(dur_min) FROM tug_jb WHERE ast_shp = 'Jade Horizon'",
    ],
    [
      "Which lorries of Cargoswift came through lane 3?",
      "files",
      "SELECT plt FROM gt_trk WHERE hlr = 'Cargoswift' AND lane = 3 ORDER BY plt",
    ],
    [
      "What was the strongest gust at the breakwater?",
      "files",
      "SELECT max(gst_kn) FROM wthr_ob WHERE stn = 'breakwater'",
    ],
    [
      "On which days was the visibility below 3000 metres?",
      "files",
      "SELECT ob_ts FROM wthr_ob WHERE vis_m < 3000 ORDER BY ob_ts",
    ],
    [
      "How many trucks entered the gate in February 2025?",
      "files",
      "SELECT count(*) FROM gt_trk WHERE in_ts >= '2025-02-01' AND in_ts < '2025-03-01'",
    ],
    [
      "Average wind speed measured at the pilot tower",
      "files",
      "SELECT avg(wnd_kn) FROM wthr_ob WHERE stn = 'pilot tower'",
    ],
    ["Can explosives be kept in the yard?", "documents", "dangerous-goods.md"],
    ["How early does a captain have to request a pilot?", "documents", "pilotage.md"],
    ["At what wind do the cranes have to stop working?", "documents", "storm.md"],
    ["What protective gear do line handlers wear?", "documents", "mooring.md"],
    ["Who pays when a box is opened for inspection?", "documents", "customs.md"],
    ["Are we allowed to take pictures on the quay?", "documents", "access.md"], // words: allow
    ["How soon must a reefer be connected to electricity?", "documents", "reefers.md"],
    ["What is the first thing to do after an oil spill?", "documents", "spill.md"],
  ],
}
