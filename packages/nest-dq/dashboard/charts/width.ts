import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** The width of an element in pixels; 0 until it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watched = element.current!;
    const watch = new ResizeObserver(() => setWidth(watched.clientWidth));
    watch.observe(watched);
    return () => watch.disconnect();
  }, []);
  return width;
}
