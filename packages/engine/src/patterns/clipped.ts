/** The beginning of a text, and a … where there is more. Half a character is none: some models refuse it. */
export function clipped(text: string, most: number): string {
  if (text.length <= most) return text
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(most - 1))
  return `${text.slice(0, isHalf ? most - 1 : most)}…`
}
