import type { ComponentType } from 'preact';
import { RequestError } from '../server/requests.js';
import { t } from '../words/language.js';
import { Failure } from './failure.js';
import { useLoad } from './load.js';

/** A page whose code isn't part of what the browser loads at once. */
export function onDemand(load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | undefined;
  const ensure = async (): Promise<ComponentType> => {
    try {
      return (loaded ??= await load());
    } catch {
      // The browser's error names a file, and is the same for a server that is away and for one that has other files by now.
      throw new RequestError('NOT_LOADED', t('app.notLoaded'));
    }
  };
  return function Page() {
    const { data, error } = useLoad(ensure, []);
    const Loaded = loaded ?? data;
    if (Loaded) return <Loaded />;
    return error ? <Failure error={error} /> : null;
  };
}
