/** The program behind the command, from its words to the code that the process is to exit with. */
import { Console } from "node:console"
import { main } from "./dispatch.ts"
import { processIo } from "./io.ts"

export async function start(argv: readonly string[]): Promise<number> {
  // For those who draw by themselves, as prompts do.
  if (argv.includes("--no-color")) process.env.NO_COLOR = "1"
  // What a user's module prints is no JSON.
  if (argv.includes("--json")) globalThis.console = new Console(process.stderr)
  const io = processIo()
  const code = await main(argv, io)
  // The process ends whatever a user's module or a toolset left open, so what is written must get out first.
  await Promise.all(
    [io.stdout, io.stderr].map((stream) => new Promise<void>((done) => stream.write("", () => done()))),
  )
  return code
}
