/** Creates Excel workbooks for tests: the minimum that a reader accepts. */
import { writeFileSync } from "node:fs"
import { crc32 } from "node:zlib"

type Cell = string | number | boolean | Date | null

export function makeWorkbook(
  file: string,
  sheets: Readonly<Record<string, readonly (readonly Cell[])[]>>,
): void {
  const names = Object.keys(sheets)
  const id = (i: number) => i + 1
  const parts: Record<string, string> = {
    "[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>`,
    "_rels/.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    "xl/workbook.xml": `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>${names.map((name, i) => `<sheet name="${name}" sheetId="${id(i)}" r:id="rId${id(i)}"/>`).join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${names.map((_, i) => `<Relationship Id="rId${id(i)}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet${id(i)}.xml"/>`).join("")}<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`,
    "xl/styles.xml": `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`,
  }
  for (const [i, name] of names.entries())
    parts[`xl/worksheets/sheet${id(i)}.xml`] = sheetXml(sheets[name] ?? [])
  writeFileSync(file, zip(parts))
}

function sheetXml(rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row, y) => {
    const inRow = row.map((value, x) => cellXml(value, `${String.fromCharCode(65 + x)}${y + 1}`))
    return `<row r="${y + 1}">${inRow.join("")}</row>`
  })
  return `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${cells.join("")}</sheetData></worksheet>`
}

function cellXml(value: Cell, at: string): string {
  if (value === null) return ""
  if (typeof value === "string") return `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`
  if (typeof value === "boolean") return `<c r="${at}" t="b"><v>${Number(value)}</v></c>`
  // Days since 1899-12-30.
  if (value instanceof Date) return `<c r="${at}" s="1"><v>${value.getTime() / 86_400_000 + 25_569}</v></c>`
  return `<c r="${at}"><v>${value}</v></c>`
}

/** Stored, not compressed. */
function zip(parts: Readonly<Record<string, string>>): Buffer {
  const bodies: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const [name, text] of Object.entries(parts)) {
    const [path, body] = [Buffer.from(name), Buffer.from(text)]
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt32LE(crc32(body), 10)
    facts.writeUInt32LE(body.length, 14)
    facts.writeUInt32LE(body.length, 18)
    facts.writeUInt16LE(path.length, 22)
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), facts, path, body])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    entries.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), facts, tail, path]))
    bodies.push(local)
    offset += local.length
  }
  const list = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.write("PK\x05\x06", "latin1")
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, list, end])
}
