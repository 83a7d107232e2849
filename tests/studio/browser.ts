/** A Chromium out of npm, and the studio built once for all that look at it. */
import { join, resolve } from "node:path"
import chromium from "@sparticuz/chromium"
import { type Browser, chromium as playwright } from "playwright-core"
import { build } from "vite"

const root = resolve(import.meta.dirname, "../..")

/** Builds the studio where the command finds it, and returns the folder. */
export async function builtStudio(): Promise<string> {
  await build({ configFile: join(root, "packages/studio/vite.config.ts"), logLevel: "warn" })
  return join(root, "packages/studio/dist/app")
}

export async function openBrowser(): Promise<Browser> {
  chromium.setGraphicsMode = false
  return await playwright.launch({
    executablePath: await chromium.executablePath(),
    headless: true,
    args: [
      ...chromium.args.filter((flag) => !/^--(?:headless|single-process|no-zygote)/.test(flag)),
      "--no-sandbox",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  })
}
