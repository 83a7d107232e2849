// An animal clinic.
import { csvOf, cycle, dates, numbersFrom, sqlRows } from "../make.mjs"

const random = numbersFrom(21)
const pick = (list) => list[Math.floor(random() * list.length)]
const owners = [
  "Marit Haugen",
  "Declan Byrne",
  "Chiara Fontana",
  "Oskar Lindqvist",
  "Priya Raman",
  "Hugo Delacroix",
  "Nadia Petrova",
  "Samuel Adeyemi",
]
const animals = [
  ["Bruno", "canine", "beagle"],
  ["Misty", "feline", "siamese"],
  ["Pepper", "canine", "poodle"],
  ["Clover", "rabbit", "lop"],
  ["Rex", "canine", "boxer"],
  ["Olive", "feline", "maine coon"],
  ["Kiwi", "avian", "cockatiel"],
  ["Duke", "canine", "beagle"],
  ["Luna", "feline", "persian"],
  ["Hazel", "rabbit", "dutch"],
]

export const vets = {
  name: "veterinary clinic",
  sql: `
    CREATE TABLE own (own_no int PRIMARY KEY, own_nm text, tel text, pst_cd text);
    CREATE TABLE anm (anm_no int PRIMARY KEY, own_no int REFERENCES own, call_nm text, spc text, brd text, dob date, sx char(1));
    CREATE TABLE vst (vst_no int PRIMARY KEY, anm_no int REFERENCES anm, vst_dt date, vet text, wgt_kg numeric(5, 2), rsn text);
    CREATE TABLE dgn (vst_no int REFERENCES vst, dgn_cd text, dgn_txt text);
    CREATE TABLE vac (anm_no int REFERENCES anm, vac_typ text, giv_dt date, due_dt date);
    CREATE TABLE bil (bil_no int PRIMARY KEY, vst_no int REFERENCES vst, net numeric(8, 2), vat numeric(8, 2), pd_on date);
    ${sqlRows(
      "own",
      owners.map((name, i) => [i + 1, name, `0${300 + i}-${5_000 + i * 37}`, String(1_000 + i * 111)]),
    )}
    ${sqlRows(
      "anm",
      animals.map(([name, species, breed], i) => [
        i + 1,
        1 + (i % owners.length),
        name,
        species,
        breed,
        `20${14 + (i % 8)}-0${1 + (i % 9)}-15`,
        cycle(["m", "f"], i),
      ]),
    )}
    ${sqlRows(
      "vst",
      dates("2024-01-03", 80, 6).map((day, i) => [
        i + 1,
        1 + Math.floor(random() * animals.length),
        day,
        cycle(["Dr Weiss", "Dr Amari", "Dr Olsen"], i),
        2 + Math.floor(random() * 300) / 10,
        pick(["check-up", "lameness", "vomiting", "dental", "itching", "vaccination"]),
      ]),
    )}
    ${sqlRows(
      "dgn",
      Array.from({ length: 60 }, (_, i) => [
        i + 1,
        cycle(["D10", "O22", "G31", "P05"], i),
        cycle(["dermatitis", "otitis externa", "gastroenteritis", "patellar luxation"], i),
      ]),
    )}
    ${sqlRows(
      "vac",
      Array.from({ length: 30 }, (_, i) => [
        1 + (i % animals.length),
        cycle(["rabies", "distemper", "leptospirosis"], i),
        `2024-${String(1 + (i % 12)).padStart(2, "0")}-10`,
        `2025-${String(1 + (i % 12)).padStart(2, "0")}-10`,
      ]),
    )}
    ${sqlRows(
      "bil",
      Array.from({ length: 80 }, (_, i) => [
        i + 1,
        i + 1,
        40 + (i % 13) * 11,
        8 + (i % 13) * 2,
        i % 7 === 0 ? null : "2024-06-01",
      ]),
    )}`,
  files: {
    "med_stk.csv": csvOf(
      ["prd", "frm", "btch", "qty_oh", "exp"],
      ["meloxicam", "ketamine", "amoxicillin", "fipronil", "prednisolone", "maropitant"].flatMap(
        (drug, i) => [
          [drug, cycle(["tablet", "vial", "spot-on"], i), `B${700 + i}`, 12 + i * 5, `2026-0${1 + i}-28`],
          [drug, cycle(["vial", "tablet", "syrup"], i), `B${800 + i}`, 3 + i, `2025-0${1 + i}-28`],
        ],
      ),
    ),
    "knl_occ.csv": csvOf(
      ["cage", "size", "dy", "occupant", "meals"],
      dates("2024-05-01", 45, 1).map((day, i) => [
        cycle(["K1", "K2", "K3", "ISO"], i),
        cycle(["large", "small", "large", "isolation"], i),
        day,
        cycle(["Bruno", "Misty", "empty", "Rex"], i),
        i % 3,
      ]),
    ),
    "eqp_srv.csv": csvOf(
      ["dvc", "mfr", "lst_srv", "nxt_srv", "cst_eur"],
      [
        ["x-ray generator", "Radiolux", "2024-02-11", "2025-02-11", 640],
        ["autoclave", "Sterimax", "2024-03-20", "2024-09-20", 180],
        ["ultrasound", "Echovet", "2023-11-05", "2024-11-05", 410],
        ["anaesthesia machine", "Pneumora", "2024-01-15", "2024-07-15", 355],
        ["centrifuge", "Rotina", "2024-04-02", "2025-04-02", 95],
      ],
    ),
  },
  documents: [
    {
      source: "anaesthesia.md",
      text: "# Anaesthesia\n\nThe animal gets no food for eight hours beforehand; water may stay until two hours before. Two people are in the room from induction until it lifts its head. Record pulse, breathing and temperature every five minutes. Rabbits are not starved.",
    },
    {
      source: "bites.md",
      text: "# When a patient bites\n\nWash the wound with soap for ten minutes, tell the duty vet, and fill in the accident book. If the animal's rabies protection has lapsed it is kept apart for ten days and the district office is informed.",
    },
    {
      source: "controlled-drugs.md",
      text: "# Controlled substances\n\nThe cabinet has two keys, held by different vets. Every ampoule that leaves it is written into the bound register with two signatures. A difference is reported to the owner of the practice on the same day.",
    },
    {
      source: "euthanasia.md",
      text: "# Putting an animal to sleep\n\nThe keeper signs the consent form first and decides whether to be present. Sedate before the final injection. Speak calmly, allow time, and do not hand over the bill on that day: it is sent by post.", // words: allow
    },
    {
      source: "sterilising.md",
      text: "# Instruments\n\nRinse blood off at once in cold water, then the ultrasonic bath, then pack and sterilise at 134 degrees for eighteen minutes. Packs are good for six months. A torn pack counts as dirty.",
    },
    {
      source: "emergency.md",
      text: "# Outside opening hours\n\nCalls go to the vet on standby. Bloat, poisoning, breathing trouble and births that do not progress are seen at once; everything else waits until morning. The surcharge is told to the caller before they set off.", // words: allow
    },
    {
      source: "xray.md",
      text: "# Radiographs\n\nNobody under eighteen or pregnant stays in the room. Lead apron, gloves and thyroid collar are worn, and hands stay out of the beam. Badges are sent in monthly.",
    },
    {
      source: "strays.md",
      text: "# Found animals\n\nRead the microchip first. Without one the animal is announced to the shelter within a day; until it is fetched the municipality pays for what is needed to relieve pain, and for nothing more.",
    },
    {
      source: "complaints.md",
      text: "# Unhappy clients\n\nListen, write it down in their words, and promise an answer within three working days. Only the practice manager offers money back.",
    },
  ],
  questions: [
    ["How many beagles do we have on file?", "database", "SELECT count(*) FROM anm WHERE brd = 'beagle'"],
    [
      "Which animals belong to Priya Raman?",
      "database",
      "SELECT call_nm FROM anm JOIN own USING (own_no) WHERE own_nm = 'Priya Raman'",
    ],
    [
      "How often was dermatitis diagnosed?",
      "database",
      "SELECT count(*) FROM dgn WHERE dgn_txt = 'dermatitis'",
    ],
    [
      "What is the telephone number of Declan Byrne?",
      "database",
      "SELECT tel FROM own WHERE own_nm = 'Declan Byrne'",
    ],
    ["Which bills have not been paid yet?", "database", "SELECT bil_no FROM bil WHERE pd_on IS NULL"],
    [
      "When is the next rabies shot due for Misty?",
      "database",
      "SELECT max(due_dt) FROM vac JOIN anm USING (anm_no) WHERE call_nm = 'Misty' AND vac_typ = 'rabies'",
    ],
    [
      "How many consultations did Dr Amari hold in 2024?",
      "database",
      "SELECT count(*) FROM vst WHERE vet = 'Dr Amari' AND vst_dt >= '2024-01-01' AND vst_dt < '2025-01-01'",
    ],
    [
      "What was the heaviest weight recorded for Duke?",
      "database",
      "SELECT max(wgt_kg) FROM vst JOIN anm USING (anm_no) WHERE call_nm = 'Duke'",
    ],
    ["Average net amount invoiced per visit", "database", "SELECT avg(net) FROM bil"],
    [
      "How many vials of ketamine are left?",
      "files",
      "SELECT sum(qty_oh) FROM med_stk WHERE prd = 'ketamine' AND frm = 'vial'",
    ],
    [
      "Which medicines expire before July 2025?",
      "files",
      "SELECT prd, exp FROM med_stk WHERE exp < DATE '2025-07-01'",
    ],
    ["When was the autoclave last serviced?", "files", "SELECT lst_srv FROM eqp_srv WHERE dvc = 'autoclave'"],
    [
      "How much does maintenance of the ultrasound cost?",
      "files",
      "SELECT cst_eur FROM eqp_srv WHERE dvc = 'ultrasound'",
    ],
    [
      "Which cage was Rex in on the 4th of May 2024?",
      "files",
      "SELECT cage FROM knl_occ WHERE occupant = 'Rex' AND dy = DATE '2024-05-04'",
    ],
    [
      "How many days was the isolation kennel occupied?",
      "files",
      "SELECT count(*) FROM knl_occ WHERE cage = 'ISO' AND occupant <> 'empty'",
    ],
    [
      "Which batch of amoxicillin do we have most of?",
      "files",
      "SELECT btch FROM med_stk WHERE prd = 'amoxicillin' ORDER BY qty_oh DESC LIMIT 1",
    ],
    ["How long must a dog fast before an operation?", "documents", "anaesthesia.md"],
    ["What do I do if a cat scratches or bites me?", "documents", "bites.md"],
    ["Who holds the keys to the narcotics cupboard?", "documents", "controlled-drugs.md"],
    ["When do we send the invoice after an animal has been put down?", "documents", "euthanasia.md"],
    ["How hot must surgical tools be sterilised?", "documents", "sterilising.md"],
    ["Which emergencies are treated in the middle of the night?", "documents", "emergency.md"],
    ["May a pregnant nurse help with x-rays?", "documents", "xray.md"],
    ["Someone brought in a stray dog, what now?", "documents", "strays.md"],
  ],
}
