/** The commands that READMEs and docs show are run, each page in a folder of its own, with the files that it shows. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import {
  blocksOf,
  docPages,
  expectShown,
  ORDERED_PAGES,
  shownIn,
  writeBlock,
} from "./doc-blocks.test-support.ts"

const shownOn = (page: string) => blocksOf(page).flatMap(shownIn)
const withCommands = docPages()
  .filter((page) => !ORDERED_PAGES.includes(page))
  .filter((page) => shownOn(page).some(({ argv }) => argv !== undefined))

test("README and docs show commands", () => {
  expect(withCommands).toContain("README.md")
})

test.each(withCommands)("the commands of %s print what it says", { timeout: 120_000 }, async (page) => {
  const cwd = mkdtempSync(join(tmpdir(), "superstep-console-"))
  try {
    for (const block of blocksOf(page)) {
      if (block.file !== undefined) writeBlock(block, join(cwd, block.file))
    }
    for (const shown of shownOn(page)) if (shown.argv !== undefined) await expectShown(shown, cwd)
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
})
