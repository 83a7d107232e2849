/** Prints a page to PDF with an installed Chromium. It runs headless, with a fresh profile and without network access. */
import { type ChildProcess, spawn } from "node:child_process"
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { pathToFileURL } from "node:url"
import { SuperstepError } from "@superstep/engine"
import type { Environment } from "../cli.ts"
import { usageError } from "./errors.ts"

const NAMES = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "chrome",
  "msedge",
  "microsoft-edge",
]

/** The program in CHROME_PATH, or the first one on the PATH. Throws if there is none, with advice. */
export function findBrowser(env: Environment): string {
  const named = env.CHROME_PATH ?? ""
  if (named !== "") {
    if (isProgram(named)) return named
    throw usageError(
      `CHROME_PATH is "${named}", which is not a program. Set it to the path of Chromium or Chrome.`,
    )
  }
  const endings = process.platform === "win32" ? [".exe", ".cmd"] : [""]
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    if (folder === "") continue
    for (const name of NAMES) {
      const found = endings.map((ending) => join(folder, name + ending)).find(isProgram)
      if (found !== undefined) return found
    }
  }
  throw usageError(
    "PDF needs Chromium, Chrome or Edge, and none is on the PATH. Install one, set CHROME_PATH to its path, or use --format html and print the page.",
  )
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

export interface PrintOptions {
  readonly env: Environment
  readonly signal?: AbortSignal | undefined
  /** Milliseconds. Default 60,000. */
  readonly timeout?: number | undefined
}

/** Renders the page as PDF. */
export async function printPdf(browser: string, html: string, options: PrintOptions): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "superstep-pdf-"))
  try {
    const [page, pdf] = [join(folder, "report.html"), join(folder, "report.pdf")]
    writeFileSync(page, html)
    await finished(browser, flagsFor(folder, page, pdf), folder, options)
    const bytes = readFileSync(pdf, { flag: "a+" })
    if (bytes.toString("latin1", 0, 5) !== "%PDF-") throw failed(browser, "it wrote no PDF")
    return bytes
  } finally {
    // A browser that exits late may still write to its profile.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function flagsFor(profile: string, page: string, pdf: string): string[] {
  return [
    "--headless",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-sync",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-background-networking",
    "--no-first-run",
    "--no-default-browser-check",
    // No name resolves, and no address can be reached, not even one of this host.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    // Chromium refuses to run as root with its sandbox. The page is our own, and its policy forbids scripts.
    ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    `--user-data-dir=${profile}`,
    "--no-pdf-header-footer",
    "--print-to-pdf-no-header",
    `--print-to-pdf=${pdf}`,
    pathToFileURL(page).href,
  ]
}

const MAX_STDERR = 4_000

/** Resolves when the browser exits by itself. */
async function finished(
  browser: string,
  flags: readonly string[],
  home: string,
  options: PrintOptions,
): Promise<void> {
  const { env, signal, timeout = 60_000 } = options
  signal?.throwIfAborted()
  // Excludes the keys in the environment.
  const own = { PATH: env.PATH, LANG: env.LANG, SYSTEMROOT: env.SYSTEMROOT, HOME: home, TMPDIR: home }
  const child = spawn(browser, flags, {
    env: own,
    stdio: ["ignore", "ignore", "pipe"],
    detached: process.platform !== "win32",
  })
  let stderr = ""
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR)
  })
  await new Promise<void>((resolve, reject) => {
    const stop = (error: unknown) => {
      killAll(child)
      reject(error)
    }
    const timer = setTimeout(
      () => stop(failed(browser, `it did not exit within ${timeout / 1_000} s`)),
      timeout,
    )
    const onAbort = () => stop(signal?.reason)
    signal?.addEventListener("abort", onAbort, { once: true })
    child.on("error", (error) => stop(failed(browser, error.message)))
    child.on("close", (code, by) => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
      const last = stderr.trim().split("\n").at(-1) ?? ""
      if (code === 0) resolve()
      else reject(failed(browser, `it exited with ${by ?? `code ${code}`}${last === "" ? "" : `: ${last}`}`))
    })
  })
}

/** A browser has several processes in one process group. */
function killAll({ pid, kill }: ChildProcess): void {
  try {
    if (pid !== undefined && process.platform !== "win32") process.kill(-pid, "SIGKILL")
    else kill("SIGKILL")
  } catch {
    // It ended just now.
  }
}

function failed(browser: string, reason: string): SuperstepError {
  return new SuperstepError("PDF_FAILED", `${browser} could not print the report: ${reason}.`, {
    retryable: false,
  })
}
