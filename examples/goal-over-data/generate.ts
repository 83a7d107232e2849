/**
 * Generates the data of a fictional company, Fjellbekk Outdoor. The output is the same each time. The documents are
 * written by hand. After a change run `npx tsx examples/goal-over-data/generate.ts`; a test fails if the files differ
 * from its output.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

type Row = readonly (string | number)[]

const CUSTOMERS: readonly Row[] = [
  ["Nordlys Sport", "Oslo", "Norway", "retail", "2017-03-01"],
  ["Alpin Haus", "Innsbruck", "Austria", "retail", "2019-09-15"],
  ["Berg og Dal", "Bergen", "Norway", "retail", "2018-05-20"],
  ["Kystlinje", "Stavanger", "Norway", "online", "2021-01-11"],
  ["Lumi Retki", "Tampere", "Finland", "retail", "2020-06-30"],
  ["Hochtour Verleih", "Garmisch", "Germany", "rental", "2022-02-07"],
  ["Polar Expeditions", "Kiruna", "Sweden", "rental", "2016-11-23"],
  ["Trailhead Direct", "Utrecht", "Netherlands", "online", "2023-04-18"],
]

const PRODUCTS: readonly Row[] = [
  ["TN-301", "Skarv 3", "tent", 449, 2900],
  ["TN-201", "Skarv 2", "tent", 379, 2350],
  ["TN-401", "Ravn 4", "tent", 629, 4100],
  ["PK-045", "Elg 45", "backpack", 189, 1450],
  ["PK-065", "Elg 65", "backpack", 229, 1900],
  ["SB-010", "Ull 10", "sleeping bag", 259, 1100],
  ["ST-001", "Glo One", "stove", 89, 320],
  ["ST-002", "Glo Duo", "stove", 129, 510],
]

const SITES = ["Bergen", "Trondheim", "Oslo", "Riga"]

const VEHICLES: readonly Row[] = [
  ["FB-2041", "Ford Transit", "diesel", "Bergen", 148_220, "2026-05-19"],
  ["FB-2042", "VW ID. Buzz", "electric", "Oslo", 31_870, "2026-08-03"],
  ["FB-2043", "Toyota Proace", "diesel", "Trondheim", 96_410, "2026-03-27"],
  ["FB-2044", "Nissan Townstar", "electric", "Bergen", 18_055, "2026-11-12"],
  ["FB-2045", "MAN TGL", "diesel", "Riga", 212_930, "2026-02-25"],
  ["FB-2046", "Renault Kangoo", "electric", "Trondheim", 44_600, "2026-09-30"],
]

const MACHINES: readonly Row[] = [
  ["Cutter A", "cutting", "Riga", 6.5, "2026-01-14"],
  ["Cutter B", "cutting", "Riga", 11, "2025-12-02"],
  ["Seam welder 1", "tents", "Riga", 27.25, "2025-11-20"],
  ["Seam welder 2", "tents", "Riga", 9.75, "2026-01-08"],
  ["Bar tacker", "backpacks", "Bergen", 3, "2025-10-17"],
  ["Down filler", "sleeping bags", "Bergen", 14.5, "2025-12-19"],
]

const PEOPLE: readonly Row[] = [
  ["Ingrid Solheim", "product lead"],
  ["Mats Eriksen", "textile engineer"],
  ["Aino Virtanen", "designer"],
  ["Jonas Keller", "test engineer"],
  ["Marta Ozola", "plant manager"],
  ["Sindre Haugen", "chief engineer"],
  ["Lea Brandt", "buyer"],
  ["Tomas Lind", "data analyst"],
]

const PROJECTS: readonly Row[] = [
  ["Aurora", "a tent that weighs less than two kilograms"],
  ["Glacier", "a stove for melting snow"],
  ["Second Life", "repair of worn equipment"],
  ["Northbound", "a backpack without plastic"],
]

const RELATIONSHIPS: readonly Row[] = [
  ["Ingrid Solheim", "LEADS", "Aurora"],
  ["Sindre Haugen", "LEADS", "Glacier"],
  ["Marta Ozola", "LEADS", "Second Life"],
  ["Aino Virtanen", "LEADS", "Northbound"],
  ["Mats Eriksen", "WORKS_ON", "Aurora"],
  ["Jonas Keller", "WORKS_ON", "Aurora"],
  ["Jonas Keller", "WORKS_ON", "Glacier"],
  ["Lea Brandt", "WORKS_ON", "Northbound"],
  ["Tomas Lind", "WORKS_ON", "Second Life"],
  ["Mats Eriksen", "REPORTS_TO", "Sindre Haugen"],
  ["Jonas Keller", "REPORTS_TO", "Sindre Haugen"],
  ["Aino Virtanen", "REPORTS_TO", "Ingrid Solheim"],
  ["Lea Brandt", "REPORTS_TO", "Marta Ozola"],
  ["Aurora", "CARRIED_OUT_AT", "Trondheim"],
  ["Glacier", "CARRIED_OUT_AT", "Bergen"],
  ["Second Life", "CARRIED_OUT_AT", "Riga"],
  ["Northbound", "CARRIED_OUT_AT", "Oslo"],
]

/** The files, by their paths in this folder. */
export function generated(): ReadonlyMap<string, string> {
  return new Map([
    ["shop.sql", shop()],
    ["data/energy.csv", csv(["site", "month", "kilowatt_hours", "cost_eur"], energy())],
    ["data/vehicles.csv", csv(["plate", "model", "fuel", "site", "mileage_km", "next_inspection"], VEHICLES)],
    ["data/machines.csv", csv(["machine", "line", "site", "downtime_hours", "last_service"], MACHINES)],
    ["graph/people.csv", csv(["name", "role"], PEOPLE)],
    ["graph/projects.csv", csv(["name", "aim"], PROJECTS)],
    [
      "graph/sites.csv",
      csv(
        ["name"],
        SITES.map((site) => [site]),
      ),
    ],
    ["graph/relationships.csv", csv(["from", "type", "to"], RELATIONSHIPS)],
  ])
}

function energy(): Row[] {
  const next = numbers(7)
  const months = ["2025-10", "2025-11", "2025-12", "2026-01", "2026-02", "2026-03"]
  return SITES.flatMap((site) =>
    months.map((month) => {
      const used = 9_000 + (next() % 14_000)
      return [site, month, used, Math.round(used * 0.14)]
    }),
  )
}

function orders(): Row[] {
  const next = numbers(42)
  const statuses = ["delivered", "delivered", "delivered", "shipped", "open", "cancelled"]
  return Array.from({ length: 120 }, (_, i) => {
    const [customer = ""] = CUSTOMERS[next() % CUSTOMERS.length] ?? []
    const [, product = "", , price = 0] = PRODUCTS[next() % PRODUCTS.length] ?? []
    const quantity = 1 + (next() % 12)
    const status = statuses[next() % statuses.length] ?? "open"
    const day = `2026-${two(1 + (next() % 3))}-${two(1 + (next() % 28))}`
    return [`SO-${1001 + i}`, customer, product, quantity, quantity * Number(price), status, day]
  })
}

function invoices(): Row[] {
  const next = numbers(99)
  const statuses = ["paid", "paid", "open", "overdue"]
  return Array.from({ length: 40 }, (_, i) => {
    const [customer = ""] = CUSTOMERS[next() % CUSTOMERS.length] ?? []
    const status = statuses[next() % statuses.length] ?? "open"
    const due = `2026-${two(1 + (next() % 4))}-${two(1 + (next() % 28))}`
    return [`INV-${5001 + i}`, customer, 200 + (next() % 4_800), due, status]
  })
}

function shop(): string {
  return [
    "CREATE TABLE customers (customer text PRIMARY KEY, city text, country text, segment text, since date);",
    "CREATE TABLE products (sku text PRIMARY KEY, product text UNIQUE, category text, price numeric(10,2), weight_grams int);",
    "CREATE TABLE orders (order_number text PRIMARY KEY, customer text REFERENCES customers, product text REFERENCES products (product), quantity int, total numeric(10,2), status text, ordered_on date);",
    "CREATE TABLE invoices (invoice_number text PRIMARY KEY, customer text REFERENCES customers, amount numeric(10,2), due_on date, status text);",
    insert("customers", CUSTOMERS),
    insert("products", PRODUCTS),
    insert("orders", orders()),
    insert("invoices", invoices()),
    "",
  ].join("\n")
}

function insert(table: string, rows: readonly Row[]): string {
  const lines = rows.map((row) => `(${row.map(literal).join(", ")})`)
  return `INSERT INTO ${table} VALUES\n  ${lines.join(",\n  ")};`
}

function literal(value: string | number): string {
  return typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`
}

function csv(columns: readonly string[], rows: readonly Row[]): string {
  return `${[columns, ...rows].map((row) => row.join(",")).join("\n")}\n`
}

function two(number: number): string {
  return String(number).padStart(2, "0")
}

/** A linear congruential generator: the same numbers for the same seed, without the low bits. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 8
  }
}

if (import.meta.filename === process.argv[1]) {
  for (const [path, text] of generated()) {
    const file = join(import.meta.dirname, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}
