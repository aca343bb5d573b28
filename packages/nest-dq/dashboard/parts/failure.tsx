import { RequestError } from '../server/requests.js';

/** What went wrong, with its code. */
export function Failure({ error }: { readonly error: Error }) {
  const code = error instanceof RequestError ? error.code : error.name;
  return (
    <p class="failure" role="alert">
      <b class="mono">{code}</b> {error.message}
    </p>
  );
}
