import { useEffect } from 'preact/hooks';
import type { TubeWire } from '../../src/dashboard/wire.js';
import { live } from './live.js';
import { goOnFrom, route } from './router.js';

/**
 * The tube in the address of a page. If there is none, the one with the most of something is put there once it is known, and stays
 * although another one has more soon.
 */
export function useFirstTube(page: string, of: (tube: TubeWire) => number | undefined): string | undefined {
  const { query } = route.value;
  const given = query['tube'];
  const tubes = live.value?.tubes?.tubes ?? [];
  const most = tubes.toSorted((a, b) => (of(b) ?? 0) - (of(a) ?? 0))[0]?.tube;
  useEffect(() => {
    if (given === undefined && most !== undefined) goOnFrom(page, [page], { ...query, tube: most });
  }, [given, most === undefined]);
  return given;
}
