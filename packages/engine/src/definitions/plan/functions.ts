/** The functions that a plan may call: what they do, and where ejected code imports them from. */
export interface PlanFunction {
  /** The entry of the package, as users import it. */
  readonly from: string
  readonly make: (...args: never[]) => unknown
}

export interface PlanFunctions {
  readonly [name: string]: PlanFunction
}

/** Several functions of one entry. */
export function functionsFrom(
  from: string,
  functions: { readonly [name: string]: PlanFunction["make"] },
): PlanFunctions {
  return Object.fromEntries(Object.entries(functions).map(([name, make]) => [name, { from, make }]))
}
