import { useEffect, useState } from 'preact/hooks';

export interface Loaded<T> {
  /** Data of the last successful load, kept while the next one is in progress. */
  readonly data?: T | undefined;
  readonly error?: Error | undefined;
  readonly loading: boolean;
  /** Loads again. */
  readonly again: () => void;
}

/** Loads data now, and when one of the values changes; a load that is no longer wanted is aborted. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, on: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'again'>>({ loading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const isWanted = () => !stop.signal.aborted;
    setState((last) => ({ ...last, loading: true }));
    load(stop.signal).then(
      (data) => isWanted() && setState({ data, loading: false }),
      (error: Error) => isWanted() && setState(({ data }) => ({ data, error, loading: false })),
    );
    return () => stop.abort();
  }, [...on, turn]);
  return { ...state, again: () => setTurn((last) => last + 1) };
}
