// Sends a file as the body of a request. Not with fetch, which does not report upload progress.

import { Refused, UNREACHABLE, withCsrf } from '../api.js';
import { addressOf } from '../base.js';

/** `onProgress` gets the sent fraction, from 0 to 1; `signal` aborts. */
export const sendFile = (path, file, options = {}) =>
  withCsrf((csrfToken) => send(path, file, { ...options, csrfToken }));

function send(path, file, { csrfToken, onProgress, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', addressOf(path));
    request.setRequestHeader('accept', 'application/json');
    request.setRequestHeader('content-type', 'application/octet-stream');
    request.setRequestHeader('x-csrf', csrfToken);
    request.upload.addEventListener('progress', ({ loaded, total }) => total > 0 && onProgress?.(loaded / total));
    request.addEventListener('load', () => settle(request, resolve, reject));
    // The server also closes the connection of a file that is too large, and then there is no
    // response to read.
    const lost = () => reject(new Refused({ status: UNREACHABLE, message: 'the connection was cut' }));
    request.addEventListener('error', lost);
    request.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')));
    signal?.addEventListener('abort', () => request.abort());
    request.send(file);
  });
}

function settle(request, resolve, reject) {
  const envelope = parsed(request.responseText);
  if (request.status === 200 && envelope?.code === 0) {
    resolve(envelope.data);
    return;
  }
  const { code, message = `status ${request.status}` } = envelope ?? {};
  const headers = { get: (name) => request.getResponseHeader(name) };
  reject(new Refused({ status: request.status, code, message, headers }));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
