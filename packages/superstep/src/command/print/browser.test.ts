import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import { findBrowser, printPdf } from "./browser.ts"

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "superstep-browser-"))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A program that acts as a browser: `script` runs in Node, with its arguments. */
function program(name: string, script: string, place = folder()): string {
  const path = join(place, name)
  writeFileSync(path, `#!${process.execPath}\nconst args = process.argv.slice(2)\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

const CALLED = "called.json"
const PRINTS = `
const fs = require("node:fs")
const flag = (name) => args.find((one) => one.startsWith(name + "="))?.slice(name.length + 1)
const page = new URL(args.at(-1))
const seen = { args, env: process.env, html: fs.readFileSync(page, "utf8") }
fs.writeFileSync(require("node:path").join(__dirname, "${CALLED}"), JSON.stringify(seen))
fs.writeFileSync(flag("--print-to-pdf"), "%PDF-1.7 page")
`

describe("a browser for PDF", () => {
  test("is the program in CHROME_PATH, or the first one on the PATH", () => {
    const [first, second, third] = [folder(), folder(), folder()]
    writeFileSync(join(first, "chromium"), "not a program")
    const chrome = program("google-chrome", "", second)
    const edge = program("msedge", "", third)
    const PATH = ["", first, second, third].join(delimiter)
    expect(findBrowser({ PATH })).toBe(chrome)
    expect(findBrowser({ PATH, CHROME_PATH: edge })).toBe(edge)
  })

  test("that is missing is reported, with advice", () => {
    expect(() => findBrowser({ PATH: folder() })).toThrow(
      "PDF needs Chromium, Chrome or Edge, and none is on the PATH. Install one, set CHROME_PATH to its path, or use --format html",
    )
    expect(() => findBrowser({})).toThrow("none is on the PATH")
    expect(() => findBrowser({ CHROME_PATH: "/no/such", PATH: "" })).toThrow(
      'CHROME_PATH is "/no/such", which is not a program.',
    )
  })
})

describe("a page is printed", () => {
  test("headless, with a fresh profile, without a network and without the caller's keys", async () => {
    const place = folder()
    const browser = program("chromium", PRINTS, place)
    const env = { PATH: process.env.PATH, OPENAI_API_KEY: "sk-secret" }
    const pdf = await printPdf(browser, "<p>Tea", { env })
    expect(Buffer.from(pdf).toString()).toBe("%PDF-1.7 page")
    const { args, env: seen, html } = JSON.parse(readFileSync(join(place, CALLED), "utf8"))
    expect(html).toBe("<p>Tea")
    for (const flag of [
      "--headless",
      "--disable-background-networking",
      "--host-resolver-rules=MAP * ~NOTFOUND",
      "--proxy-bypass-list=<-loopback>",
      "--no-pdf-header-footer",
    ]) {
      expect(args).toContain(flag)
    }
    expect(args.includes("--no-sandbox")).toBe(process.getuid?.() === 0)
    expect(seen.OPENAI_API_KEY).toBeUndefined()
    const profile = args.find((one: string) => one.startsWith("--user-data-dir=")).split("=")[1]
    expect(seen.HOME).toBe(profile)
    // No files remain.
    expect(existsSync(profile)).toBe(false)
  })

  test.each([
    ["fails", 'console.error("no display"); process.exit(3)', "it exited with code 3: no display."],
    ["writes nothing", "", "it wrote no PDF."],
    ["writes something else", PRINTS.replace("%PDF-1.7", "<html>"), "it wrote no PDF."],
  ])("fails if the browser %s", async (_, script, reason) => {
    const browser = program("chromium", script)
    await expect(printPdf(browser, "<p>", { env: { PATH: process.env.PATH } })).rejects.toThrow(
      `${browser} could not print the report: ${reason}`,
    )
  })

  test("fails if the program does not exist", async () => {
    await expect(printPdf("/no/such", "<p>", { env: {} })).rejects.toThrow(
      "could not print the report: spawn",
    )
  })

  test("has a time limit, and a browser that hangs is killed with its children", async () => {
    const place = folder()
    const hangs = `
      const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"])
      require("node:fs").writeFileSync(__dirname + "/pids", process.pid + " " + child.pid)
      setInterval(() => {}, 1000)`
    const browser = program("chromium", hangs, place)
    const stop = new AbortController()
    const printing = printPdf(browser, "<p>", { env: { PATH: process.env.PATH }, signal: stop.signal })
    while (!existsSync(join(place, "pids")) || !/ \d/.test(readFileSync(join(place, "pids"), "utf8"))) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    stop.abort(new Error("interrupted"))
    await expect(printing).rejects.toThrow("interrupted")
    const pids = readFileSync(join(place, "pids"), "utf8").split(" ").map(Number)
    for (const pid of pids) await gone(pid)
    const slow = printPdf(browser, "<p>", { env: { PATH: process.env.PATH }, timeout: 50 })
    await expect(slow).rejects.toThrow("it did not exit within 0.05 s")
  })
})

/** Resolves when no process has the id. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const real = (() => {
  try {
    return findBrowser(process.env)
  } catch {
    return undefined
  }
})()

test.skipIf(real === undefined)(
  "with an installed Chromium: a page becomes a PDF, and makes no network request",
  { timeout: 120_000 },
  async () => {
    const asked: (string | undefined)[] = []
    const server = createServer(({ url }, response) => {
      asked.push(url)
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const page = `<!doctype html><title>Tea</title><img src="http://127.0.0.1:${port}/image"><p>Tea is a drink.`
    const pdf = await printPdf(real ?? "", page, { env: process.env, timeout: 100_000 })
    expect(Buffer.from(pdf).toString("latin1", 0, 5)).toBe("%PDF-")
    expect(pdf.length).toBeGreaterThan(1_000)
    expect(asked).toEqual([])
  },
)
