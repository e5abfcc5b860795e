"""Keras on MXNet: a convolutional and a recurrent network are fitted and predict."""

import keras
import numpy as np
from keras import layers

random = np.random.RandomState(0)


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


def fill(model):
    model.set_weights([random.randn(*w.shape) * 0.1 if w.ndim > 1 else np.zeros(w.shape) for w in model.get_weights()])


images = random.rand(32, 8, 8, 1)
labels = keras.utils.to_categorical(random.randint(0, 3, 32), 3)
model = keras.models.Sequential(
    [
        layers.Conv2D(4, (3, 3), activation="relu", input_shape=(8, 8, 1)),
        layers.MaxPooling2D((2, 2)),
        layers.Flatten(),
        layers.Dense(3, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(lr=0.1), loss="categorical_crossentropy", metrics=["accuracy"])
fill(model)
history = model.fit(images, labels, batch_size=8, epochs=3, verbose=0, shuffle=False)
report("cnn", *history.history["loss"])
report("cnn predicts", *model.predict(images[:2]).ravel())

sequences = random.rand(16, 5, 3)
model = keras.models.Sequential([layers.LSTM(6, input_shape=(5, 3), unroll=True), layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
fill(model)
history = model.fit(sequences, sequences.sum((1, 2))[:, None], batch_size=8, epochs=2, verbose=0, shuffle=False)
report("lstm", *history.history["loss"])
report("lstm evaluates", model.evaluate(sequences, np.zeros((16, 1)), verbose=0))
