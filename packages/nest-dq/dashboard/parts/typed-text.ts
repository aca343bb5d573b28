import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * For an input that has the value, and then what is typed. As its `value` it would replace what is being typed with each rendering, such
 * as when the page becomes live, or another job is dead.
 */
export function useTypedText(value: string): RefObject<HTMLInputElement | null> {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    input.current!.value = value;
  }, [value]);
  return input;
}
