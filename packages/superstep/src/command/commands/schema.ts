/** `superstep schema DIALECT`: the JSON Schema of a dialect, for editors. */
import { Argument, Command } from "commander"
import type { Cli } from "../cli.ts"

export function command(cli: Cli): Command {
  return new Command()
    .description("Prints the JSON Schema of a dialect, for editors.")
    .addArgument(new Argument("<dialect>").choices(["steps", "graph"]))
    .option("--no-color", "no colours")
    .action(async (dialect: "steps" | "graph") => {
      const { jsonSchemas } = await import("@superstep/engine/definitions")
      cli.out.line(JSON.stringify(jsonSchemas[dialect](), undefined, 2))
    })
    .addHelpText(
      "after",
      "\nFor example:\n  superstep schema steps > steps.schema.json\nand in a YAML file:\n" +
        "  # yaml-language-server: $schema=steps.schema.json",
    )
}
