// The stream of a dashboard page, shared by its parts.

import { Stream } from './stream.js';

let stream;

export const pageStream = () => (stream ??= new Stream());
