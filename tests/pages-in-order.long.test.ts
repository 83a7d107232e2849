/**
 * Pages that a reader works through: every block runs, in order, in one fresh folder. A file is there from where the page
 * shows it, TypeScript prints what its comments say, and commands print what follows them.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import {
  blocksOf,
  expectPrinted,
  expectShown,
  ORDERED_PAGES,
  root,
  shownIn,
  writeBlock,
} from "./doc-blocks.test-support.ts"

// In the project, so that its packages are found.
const modules = join(root, "tests", ".pages")
afterAll(() => rmSync(modules, { recursive: true, force: true }))

test.each(ORDERED_PAGES)(
  "every block of %s runs, in order, in a fresh folder",
  { timeout: 240_000 },
  async (page) => {
    const cwd = mkdtempSync(join(tmpdir(), "superstep-page-"))
    mkdirSync(modules, { recursive: true })
    try {
      for (const [i, block] of blocksOf(page).entries()) {
        if (block.file !== undefined) writeBlock(block, join(cwd, block.file))
        else if (block.kind === "ts") {
          const file = join(modules, `${page.replace(/\W+/g, "-")}-${i + 1}.ts`)
          writeBlock({ ...block, text: `${block.text}\nexport {}\n` }, file)
          await expectPrinted(file, block.text, cwd)
        } else {
          const shown = shownIn(block)
          const unknown = shown.filter(({ argv }) => argv === undefined).map(({ line }) => line)
          // Neither a file, nor a module, nor commands of superstep: nothing would prove that it is right.
          expect({ block: i + 1, commands: shown.length > 0, unknown }).toEqual({
            block: i + 1,
            commands: true,
            unknown: [],
          })
          for (const one of shown) await expectShown(one, cwd)
        }
      }
    } finally {
      rmSync(cwd, { recursive: true, force: true })
    }
  },
)
