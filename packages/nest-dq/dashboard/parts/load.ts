import { useEffect, useState } from 'preact/hooks';
import { fell, now, recovered } from '../state/live.js';
import { lastRead, noteRead } from './last-read.js';
import { Stale } from './stale.js';

export interface Loaded<T> {
  /** Data of the last successful load, kept while the next one is in progress, and if it fails. */
  readonly data?: T | undefined;
  /** A `Stale` if there is data from before. */
  readonly error?: Error | undefined;
  readonly loading: boolean;
  /** Loads again. */
  readonly again: () => void;
}

interface State<T> extends Omit<Loaded<T>, 'again'> {
  /** When the data was read, and what it is about. */
  readonly asOf?: number;
  readonly of?: string;
}

/**
 * Loads data now, when one of the values changes, when the ledger goes away, and when it or the server is back; a load that is no
 * longer wanted is aborted. `about` names the data: if a load fails, the last data of that name is shown, also after another page was visited.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  on: readonly unknown[],
  about = '',
): Loaded<T> {
  const [state, setState] = useState<State<T>>({ loading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const isWanted = () => !stop.signal.aborted;
    setState((last) => ({ ...last, loading: true }));
    load(stop.signal).then(
      (data) => {
        if (!isWanted()) return;
        const read = { data, asOf: now.peek() };
        noteRead(about, read);
        setState({ ...read, of: about, loading: false });
      },
      (error: Error) => {
        if (!isWanted()) return;
        setState((last) => {
          const read = (last.of === about ? last : lastRead(about)) as State<T> | undefined;
          if (read?.asOf === undefined) return { error, loading: false };
          const { data, asOf } = read;
          return { data, asOf, of: about, error: new Stale(error, asOf), loading: false };
        });
      },
    );
    return () => stop.abort();
  }, [...on, turn, recovered.value, fell.value]);
  const { data, error, loading } = state;
  return { data, error, loading, again: () => setTurn((last) => last + 1) };
}
