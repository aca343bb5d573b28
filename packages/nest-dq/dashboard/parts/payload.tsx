import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PayloadWire } from '../../src/dashboard/wire.js';
import { getData } from '../server/requests.js';
import { session } from '../state/session.js';
import { t } from '../words/language.js';
import { Failure } from './failure.js';
import { useLoad } from './load.js';

/** A payload, once somebody asks for it: each look is one for the server to allow. */
export function Payload({ path, query = {} }: { readonly path: string; readonly query?: object }) {
  const [shown, setShown] = useState(false);
  if (!session.value?.payloads) return null;
  if (shown)
    return (
      <Focused>
        <Shown path={path} query={query} />
      </Focused>
    );
  return (
    <button class="button" onClick={() => setShown(true)}>
      {t('payload.show')}
    </button>
  );
}

/** Takes over the focus of the button in whose place it is. */
function Focused({ children }: { readonly children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => element.current?.focus(), []);
  return (
    <div ref={element} class="focused" tabIndex={-1}>
      {children}
    </div>
  );
}

function Shown({ path, query }: { readonly path: string; readonly query: object }) {
  const { data, error } = useLoad((signal) => getData<PayloadWire>(path, query, signal), [path]);
  if (error) return <Failure error={error} />;
  if (!data) return <p class="faint">{t('loading')}</p>;
  const { payload, bytes } = data;
  if (payload === undefined && bytes === undefined) return <p class="faint">{t('payload.none')}</p>;
  return (
    <pre class="code" tabIndex={0} aria-label={t(bytes === undefined ? 'payload' : 'payload.bytes')}>
      {bytes ?? JSON.stringify(payload, null, 2)}
    </pre>
  );
}
