/** What of a list is enough for it to still fail: nothing of it can be left out. */
export async function shrink<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
): Promise<T[]> {
  let left = [...items];
  for (let size = left.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < left.length;) {
      const fewer = [...left.slice(0, at), ...left.slice(at + size)];
      if (await fails(fewer)) left = fewer;
      else at += size;
    }
  }
  return left;
}
