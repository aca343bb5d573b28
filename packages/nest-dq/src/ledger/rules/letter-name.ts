/** What names a dead letter in its tube: there is one at most for each (id, born). */
export function letterName(id: string, born: number): string {
  return `${id}:${born}`;
}
