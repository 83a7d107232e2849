/** Everything that a stream yields: `Array.fromAsync`, which Node 20 does not have. */
export async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const value of values) found.push(value)
  return found
}
