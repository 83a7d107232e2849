/** Which values of a plan its workflow uses, directly or through others. */
import { type Arg, Call, Later, type Plan, Ref } from "./plan.ts"

export function reachable({ values, main }: Plan): ReadonlySet<string> {
  const byName = new Map(values.map((value) => [value.name, value]))
  const found = new Set<string>()
  const queue: Arg[] = [new Ref(main)]
  for (let arg = queue.pop(); arg !== undefined || queue.length > 0; arg = queue.pop()) {
    if (arg instanceof Ref) {
      const value = byName.get(arg.name)
      if (value === undefined || found.has(arg.name)) continue
      found.add(arg.name)
      if ("call" in value) queue.push(value.call)
      else queue.push(value.options, ...value.wires.map((wire) => wire.args))
    } else if (arg instanceof Later) queue.push(arg.arg)
    else if (arg instanceof Call) queue.push(arg.args)
    else if (typeof arg === "object" && arg !== null) queue.push(...(Object.values(arg) as Arg[]))
  }
  return found
}
